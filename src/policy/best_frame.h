/* SPDX-License-Identifier: Apache-2.0
 * Which frame of an event is shown for it: the one with the highest score. */
#ifndef CAM_BEST_FRAME_H
#define CAM_BEST_FRAME_H

/* Severity before confidence before sharpness. What is not known counts as 0. */
double best_frame_score(int severity, double confidence, double blur_score);

#endif
