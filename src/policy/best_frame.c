/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/best_frame.h"

double best_frame_score(int severity, double confidence, double blur_score)
{
	return severity * 1000.0 + confidence * 100.0 - blur_score * 0.1;
}
