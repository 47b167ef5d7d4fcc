/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/errors.h"

#include <string.h>

static const struct error_def errors[] = {
    /* The first three are the specification's words. */
    {"SYSTEM_OVERLOAD", 503, 30, "サーバーが高負荷のためしばらく経ってからお試しください",
	"The server is under heavy load. Please try again in a while."},
    {"USER_ALREADY_HAS_MODAL", 409, 0, "既に別のカメラを表示中です", "You are already viewing another camera."},
    {"OVER_CAPACITY", 503, 10,
	"現在多数のアクセスがありストリーム数が上限に達しています。しばらく経ってからアクセスしてください",
	"All streams are in use at the moment. Please try again in a while."},

    {"BAD_REQUEST", 400, 0, "リクエストが正しくありません", "The request is not valid."},
    {"BAD_CAPTURED_AT", 400, 0, "撮影時刻が未来になっています",
	"captured_at lies in the future; check the sender's clock."},
    {"BAD_CURSOR", 400, 0, "ページ位置の指定が正しくありません", "The cursor is not one that this list gave out."},
    {"BAD_CASE_ID", 400, 0, "案件IDが正しくありません", "A case_id is 1 to 64 letters, digits, '_', '.' or '-'."},
    {"UNAUTHORIZED", 401, 0, "認証が必要です", "Sign in, or send a valid bearer token."},
    {"FORBIDDEN", 403, 0, "この操作を行う権限がありません", "Your role may not do this."},
    {"BAD_SIGNATURE", 403, 0, "画像のリンクが正しくありません", "This link to an image is not valid."},
    {"CROSS_SITE", 403, 0, "別サイトからの操作は受け付けません", "Requests from another site are not accepted."},
    {"NOT_FOUND", 404, 0, "見つかりません", "There is nothing at this address."},
    {"UNKNOWN_CAMERA", 404, 0, "指定されたカメラは存在しません", "There is no such camera."},
    {"UNKNOWN_EVENT", 404, 0, "指定されたイベントは存在しません", "There is no such event."},
    {"UNKNOWN_FRAME", 404, 0, "指定されたフレームは存在しません", "There is no such frame."},
    {"UNKNOWN_JOB", 404, 0, "指定されたジョブは存在しません", "There is no such job."},
    {"UNKNOWN_MODEL", 404, 0, "指定されたモデルは存在しません", "There is no such model."},
    {"UNKNOWN_PROVIDER", 404, 0, "指定されたプロバイダーは存在しません", "There is no such provider."},
    {"UNKNOWN_POOL", 404, 0, "指定されたプールは存在しません", "There is no such pool."},
    {"UNKNOWN_SERVER", 404, 0, "指定された配信サーバーは存在しません", "There is no such stream server."},
    {"UNKNOWN_NODE", 404, 0, "指定されたノードは存在しません", "There is no such node."},
    {"NO_FRAME", 404, 0, "このカメラの画像はありません", "There is no image of this camera."},
    {"IMAGE_GONE", 404, 0, "この画像は既に削除されています", "The image is no longer kept."},
    {"UNKNOWN_LEASE", 404, 0, "指定されたリースは存在しません", "There is no such lease of yours."},
    {"METHOD_NOT_ALLOWED", 405, 0, "このメソッドは使用できません", "This method is not available here; see Allow."},
    {"BAD_LEASE_ID", 409, 0, "このリースIDは既に使用されています", "This lease_id is in use; send another or none."},
    {"FRAME_CONFLICT", 409, 0, "このフレームIDは別の画像に使用されています",
	"This frame_uuid is another image's; send another or none."},
    {"JOB_STATE", 409, 0, "ジョブの現在の状態ではこの操作はできません", "The job's state does not allow this."},
    {"LEASE_EXPIRED", 410, 0, "リースの有効期限が切れました", "The lease has ended."},
    {"LINK_EXPIRED", 410, 0, "画像のリンクの有効期限が切れました", "This link to an image has expired."},
    {"PAYLOAD_TOO_LARGE", 413, 0, "リクエスト本文が大きすぎます", "The request body is too large."},
    {"URI_TOO_LONG", 414, 0, "URLが長すぎます", "The address is too long."},
    {"UNSUPPORTED_MEDIA_TYPE", 415, 0, "Content-Type が対応していません", "The Content-Type is not supported here."},
    {"RANGE_NOT_SATISFIABLE", 416, 0, "指定された範囲のデータはありません",
	"The range asked for has no byte of the image."},
    {"RATE_LIMITED", 429, 1, "リクエスト数が上限に達しています。しばらく経ってからお試しください",
	"The limit of this model is reached. Please try again in a while."},
    {"UPSTREAM_FAILED", 502, 0, "モデルの提供元から応答がありません", "The model's provider gave no answer."},
    {"UPSTREAM_TIMEOUT", 504, 0, "モデルの提供元の応答が時間内にありませんでした",
	"The model's provider did not answer in time."},
    {"SHUTTING_DOWN", 503, 2, "サーバーを再起動しています", "The server is being restarted. Please try again."},
    {"QUEUE_FULL", 503, 5, "処理待ちが上限に達しています。しばらく経ってからお試しください",
	"Too much is waiting already. Please try again in a while."},
    {"POOL_TIMEOUT", 503, 1, "空いているワーカーがありません。しばらく経ってからお試しください",
	"No worker became free in time. Please try again in a moment."},
    {"NO_NODE", 503, 5, "推論ノードが応答しません。しばらく経ってからお試しください",
	"No inference node is there for this model. Please try again in a moment."},
    {"NODES_BUSY", 503, 1, "すべての推論ノードが使用中です。しばらく経ってからお試しください",
	"All inference nodes of this model are busy. Please try again in a moment."},
    {"POOL_DISABLED", 503, 30, "このプールは現在停止しています", "This pool takes no calls at the moment."},
    {"POOL_FAILING", 503, 10, "ワーカーを起動できません。しばらく経ってからお試しください",
	"The workers of this pool do not start. Please try again in a while."},
    {"NO_MANAGER", 503, 10, "ワーカーを管理するプログラムが動作していません",
	"Nothing that could start a worker is running."},
    {"SPOOL_UNAVAILABLE", 503, 10, "画像を保存できません。しばらく経ってからお試しください",
	"The image cannot be stored at the moment. Please try again in a while."},
    {"ARCHIVE_UNAVAILABLE", 503, 10, "画像の保管先に接続できません。しばらく経ってからお試しください",
	"The archive does not answer. Please try again in a while."},
    {"MEDIA_UNAVAILABLE", 503, 30, "画像のリンクは現在利用できません",
	"Links to images are not set up here; run camctl media rotate-key."},
    {"DB_UNAVAILABLE", 503, 2, "データベースに接続できません。しばらく経ってからお試しください",
	"The database is not available. Please try again in a moment."},
    {"SCHEMA_OUTDATED", 503, 30, "データベースの更新が必要です",
	"The database schema is older than this program; run camctl db migrate."},
    {"INTERNAL_ERROR", 500, 0, "内部エラーが発生しました", "Something went wrong here; the log has the details."},
};

const struct error_def *error_find(const char *code)
{
	size_t n = sizeof errors / sizeof *errors;

	for (size_t i = 0; i < n; i++)
		if (strcmp(errors[i].code, code) == 0)
			return &errors[i];
	return &errors[n - 1];
}
