// SPDX-License-Identifier: Apache-2.0
// Words in Japanese and English, and dates and numbers the way each writes them.

const WORDS = {
	'nav.live': ['ライブ', 'Live'],
	'nav.events': ['イベント', 'Events'],
	'nav.operations': ['運用', 'Operations'],
	'nav.main': ['メインメニュー', 'Main menu'],
	'nav.skip': ['本文へ移動', 'Skip to content'],
	'shell.theme': ['明るい表示と暗い表示を切り替える', 'Switch between light and dark'],
	'shell.language': ['English で表示', '日本語で表示'],
	'shell.language_short': ['EN', '日本語'],
	'shell.account': ['サインイン', 'Sign-in'],
	'shell.anonymous': ['ゲスト', 'Guest'],
	'shell.offline': ['サーバーに接続できません。再接続しています…', 'The server cannot be reached. Reconnecting…'],
	'role.viewer': ['閲覧者', 'Viewer'],
	'role.operator': ['運用者', 'Operator'],
	'role.ingest': ['取込', 'Ingest'],
	'signin.title': ['サインイン', 'Sign in'],
	'signin.intro': ['運用者から受け取ったトークンを貼り付けてください。', 'Paste the token that an operator gave you.'],
	'signin.needed': ['このページを見るにはサインインが必要です。', 'You need to sign in to see this page.'],
	'signin.token': ['トークン', 'Token'],
	'signin.remember': ['この端末で記憶する', 'Remember on this device'],
	'signin.go': ['サインイン', 'Sign in'],
	'signin.out': ['サインアウト', 'Sign out'],
	'signin.bad': ['トークンが正しくないか、期限が切れています。', 'The token is wrong or has expired.'],
	'signin.web': ['ウェブサーバーでサインインしています。', 'You are signed in by the web server.'],
	'signin.with_token': ['トークンでサインインしています。', 'You are signed in with a token.'],
	'signin.as_guest': ['サインインせずに閲覧しています。', 'You are viewing without signing in.'],
	'signin.operators': ['このページは運用者専用です。', 'This page is for operators.'],
	close: ['閉じる', 'Close'],
	cancel: ['キャンセル', 'Cancel'],
	loading: ['読み込んでいます…', 'Loading…'],
	all: ['すべて', 'All'],
	none: ['なし', 'None'],
	seconds: ['秒', 's'],

	'level.normal': ['正常', 'Healthy'],
	'level.warning': ['注意', 'Warning'],
	'level.overload': ['過負荷', 'Overload'],
	'level.stale': ['状態不明', 'No data'],
	'level.unknown': ['状態不明', 'No data'],

	'event.human': ['人物', 'Person'],
	'event.animal': ['動物', 'Animal'],
	'event.vehicle': ['車両', 'Vehicle'],
	'event.hazard': ['危険', 'Hazard'],
	'event.camera_issue': ['カメラ異常', 'Camera issue'],
	'event.object_missing': ['物品なくなり', 'Object missing'],
	'event.unknown': ['不明', 'Unknown'],
	'event.none': ['検知なし', 'Nothing'],
	'severity.0': ['情報', 'Info'],
	'severity.1': ['低', 'Low'],
	'severity.2': ['中', 'Medium'],
	'severity.3': ['高', 'High'],
	'quality.sub': ['標準', 'Standard'],
	'quality.main': ['高画質', 'High'],
	'units': ['{n} ユニット', '{n} units'],
	'unit': ['{n} ユニット', '{n} unit'],

	'live.title': ['ライブ', 'Live'],
	'live.cameras': ['カメラ', 'Cameras'],
	'live.online': ['{n} / {all} 台 稼働中', '{n} of {all} online'],
	'live.streams': ['ストリーム', 'Streams'],
	'live.free': ['残り {n} / {all} ユニット', '{n} of {all} units free'],
	'live.viewers': ['閲覧者', 'Viewers'],
	'live.viewers_n': ['{n} 人', '{n}'],
	'live.system': ['システム', 'System'],
	'live.suggested': ['注目', 'Look here'],
	'live.suggest_none': ['いま注目のカメラはありません', 'No camera stands out right now'],
	'live.offline': ['オフライン', 'Offline'],
	'live.no_picture': ['画像がありません', 'No picture yet'],
	'live.last_seen': ['最終受信 {ago}', 'Last picture {ago}'],
	'live.empty': ['カメラはまだ登録されていません。', 'There are no cameras yet.'],
	'live.empty_hint': ['camctl camera add で登録できます。', 'Add one with camctl camera add.'],
	'live.now': ['検知中', 'Now'],

	'modal.connecting': ['接続しています…', 'Connecting…'],
	'modal.left': ['残り {time}', '{time} left'],
	'modal.quality': ['画質', 'Quality'],
	'modal.live': ['ライブ', 'LIVE'],
	'modal.snapshots': ['静止画', 'Snapshots'],
	'modal.video': ['映像', 'Video'],
	'modal.downgraded': ['空きが少ないため標準画質で表示しています', 'Shown in standard quality: there was no room for more'],
	'modal.no_stream': ['映像を再生できないため静止画で表示しています', 'The stream cannot be played here; showing snapshots'],
	'modal.refused': ['表示できません', 'Cannot show this camera'],
	'modal.retry_in': ['{n} 秒後に再試行できます', 'You can try again in {n} s'],
	'modal.retry_now': ['もう一度お試しください', 'You can try again now'],
	'modal.retry': ['再試行', 'Try again'],
	'modal.numbers': ['必要 {need} / 空き {free} ユニット', '{need} needed, {free} units free'],
	'modal.other': ['表示中: {name}', 'Being viewed: {name}'],
	'modal.take_over': ['そちらを閉じて表示', 'Close that one and show this'],
	'modal.ttl_title': ['表示時間が終了しました', 'Your viewing time is over'],
	'modal.ttl_text': ['続けて表示しますか？', 'Do you want to go on watching?'],
	'modal.hidden_title': ['一時停止しました', 'Paused'],
	'modal.hidden_text': ['画面が隠れている間はストリームを返却しました。続けて表示しますか？', 'The stream was given back while you were away. Do you want to go on watching?'],
	'modal.lost_title': ['接続が切れました', 'The connection was lost'],
	'modal.lost_text': ['もう一度接続しますか？', 'Do you want to connect again?'],
	'modal.reconnect': ['再接続', 'Reconnect'],
	'modal.see_event': ['イベントを見る', 'See the event'],

	'events.title': ['イベント', 'Events'],
	'events.filters': ['絞り込み', 'Filters'],
	'events.camera': ['カメラ', 'Camera'],
	'events.kind': ['種類', 'Kind'],
	'events.severity': ['重要度', 'Severity'],
	'events.severity_from': ['{s} 以上', '{s} and above'],
	'events.state': ['状態', 'State'],
	'events.open': ['継続中', 'Ongoing'],
	'events.closed': ['終了', 'Ended'],
	'events.from': ['開始', 'From'],
	'events.until': ['終了', 'Until'],
	'events.reset': ['条件を消す', 'Clear'],
	'events.empty': ['該当するイベントはありません。', 'No events match.'],
	'events.more': ['さらに読み込む', 'Load more'],
	'events.end': ['これですべてです', 'That is all of them'],
	'events.new': ['新しいイベントが {n} 件あります', '{n} new events'],
	'events.new_one': ['新しいイベントが 1 件あります', '1 new event'],
	'events.frames': ['{n} 枚', '{n} frames'],
	'events.frame1': ['1 枚', '1 frame'],
	'events.case': ['案件 {id}', 'Case {id}'],
	'events.lasted': ['{time} 継続', 'lasted {time}'],
	'events.no_image': ['画像は保存されていません', 'The image is no longer kept'],

	'detail.title': ['イベントの詳細', 'Event details'],
	'detail.timeline': ['タイムライン', 'Time line'],
	'detail.frame_of': ['{n} / {all} 枚目', 'Frame {n} of {all}'],
	'detail.prev': ['前の画像', 'Previous frame'],
	'detail.next': ['次の画像', 'Next frame'],
	'detail.best': ['ベスト', 'Best'],
	'detail.boxes': ['枠を表示', 'Show boxes'],
	'detail.tags': ['タグ', 'Tags'],
	'detail.no_tags': ['タグはありません', 'No tags'],
	'detail.facts': ['概要', 'Summary'],
	'detail.when': ['発生', 'When'],
	'detail.ended_because': ['終了理由', 'Ended because'],
	'detail.confidence': ['確信度', 'Confidence'],
	'detail.retention': ['保存', 'Kept'],
	'detail.why': ['理由', 'Why'],
	'detail.until': ['{date} まで', 'until {date}'],
	'detail.days': ['終了後 {n} 日間', '{n} days after it ends'],
	'detail.forever': ['無期限', 'for ever'],
	'detail.archived': ['アーカイブ済み {n} 枚', '{n} frames archived'],
	'detail.notifications': ['通知', 'Notifications'],
	'detail.no_notifications': ['通知の対象ではありません', 'Nobody was to be told'],
	'detail.review': ['AI による確認', 'Language model'],
	'detail.no_review': ['確認は行われていません', 'Not asked'],
	'detail.case': ['案件', 'Case'],
	'detail.case_id': ['案件 ID', 'Case ID'],
	'detail.case_attach': ['案件に紐付け', 'Attach to case'],
	'detail.case_detach': ['紐付けを解除', 'Detach'],
	'detail.case_none': ['紐付けられた案件はありません', 'Belongs to no case'],
	'detail.case_note': ['案件に紐付けたイベントは無期限に保存されます。', 'An event that belongs to a case is kept for ever.'],
	'detail.case_by': ['{who} が紐付け', 'attached by {who}'],
	'detail.case_bad': ['英数字と _ . - で 1〜64 文字', '1 to 64 letters, digits, _ . -'],
	'class.normal': ['通常', 'Normal'],
	'class.quarantine': ['隔離', 'Quarantine'],
	'class.case': ['案件', 'Case'],
	'close.gap': ['検知が途切れた', 'nothing more was seen'],
	'close.changed': ['種類が変わった', 'something else was seen'],
	'close.stale': ['時間切れ', 'nothing came in for a while'],
	'notify.pending': ['順番待ち', 'Waiting'],
	'notify.sending': ['送信中', 'Sending'],
	'notify.sent': ['送信済み', 'Sent'],
	'notify.suppressed': ['抑制', 'Held back'],
	'notify.summarised': ['まとめて通知', 'In a summary'],
	'notify.dead': ['失敗', 'Failed'],
	'rule.severity': ['重要度 2 以上', 'severity 2 and above'],
	'rule.hazard': ['危険', 'hazard'],
	'rule.camera_offline': ['カメラ停止', 'camera offline'],
	'rule.unknown': ['不明な検知', 'unknown'],
	'review.pending': ['確認待ち', 'Waiting'],
	'review.skipped': ['確認せず', 'Not asked'],
	'review.ok': ['回答あり', 'Answered'],
	'review.refused': ['回答拒否', 'Declined'],
	'review.nonsense': ['無効な回答', 'Unusable answer'],
	'review.error': ['エラー', 'Error'],

	'ops.title': ['運用', 'Operations'],
	'ops.health': ['ホストの負荷', 'Host load'],
	'ops.cpu': ['CPU', 'CPU'],
	'ops.memory': ['メモリ', 'Memory'],
	'ops.swap': ['スワップ', 'Swap'],
	'ops.budget': ['ストリームユニット', 'Stream units'],
	'ops.baseline': ['巡回・録画', 'Patrol'],
	'ops.suggest': ['注目枠', 'Suggestion'],
	'ops.used': ['使用中', 'In use'],
	'ops.free': ['空き', 'Free'],
	'ops.change': ['変更', 'Change'],
	'ops.queue': ['処理待ち', 'Queue'],
	'ops.kind': ['種類', 'Kind'],
	'ops.queued': ['待機', 'Queued'],
	'ops.waiting': ['再試行待ち', 'Backing off'],
	'ops.running': ['実行中', 'Running'],
	'ops.dead': ['失敗', 'Dead'],
	'ops.oldest': ['最長待ち', 'Oldest'],
	'ops.throughput': ['処理量', 'Throughput'],
	'ops.per_minute': ['件/分', '/min'],
	'ops.latency': ['処理時間 p95', 'Latency p95'],
	'ops.refused_hour': ['拒否（1時間）', 'Refused (1 h)'],
	'ops.kind.analyze': ['解析', 'Analyze'],
	'ops.kind.archive': ['保管', 'Archive'],
	'ops.kind.notify': ['通知', 'Notify'],
	'ops.kind.escalate': ['AI 確認', 'Escalate'],
	'ops.history': ['直近 1 時間', 'The last hour'],
	'ops.plot.load': ['CPU・メモリ (%)', 'CPU and memory (%)'],
	'ops.plot.units': ['ユニットと閲覧者', 'Units and viewers'],
	'ops.plot.requests': ['表示要求と拒否（毎分）', 'Lease requests and refusals per minute'],
	'ops.plot.jobs': ['ジョブ（毎分）', 'Jobs per minute'],
	'ops.plot.queue': ['処理待ちの件数', 'Queue depth'],
	'ops.plot.latency': ['処理時間 p95（秒）', 'Latency p95 (s)'],
	'ops.series.memory': ['メモリ', 'Memory'],
	'ops.series.budget': ['上限', 'Budget'],
	'ops.series.viewers': ['閲覧者', 'Viewers'],
	'ops.series.requests': ['要求', 'Requests'],
	'ops.series.refusals': ['拒否', 'Refusals'],
	'ops.series.failed': ['失敗', 'Failed'],
	'ops.series.depth': ['件数', 'Jobs'],
	'ops.plots_off': ['グラフを表示できません（Chart.js がありません）', 'No plots: Chart.js is not installed'],
	'ops.refusals': ['拒否の理由', 'Refusals by reason'],
	'ops.reason': ['理由', 'Reason'],
	'ops.hour': ['1 時間', 'Last hour'],
	'ops.total': ['累計', 'Total'],
	'ops.calls': ['モデル呼び出し（1時間）', 'Model calls, last hour'],
	'reason.OVER_CAPACITY': ['ストリーム上限', 'Over capacity'],
	'reason.SYSTEM_OVERLOAD': ['過負荷', 'System overload'],
	'reason.USER_ALREADY_HAS_MODAL': ['既に表示中', 'Already viewing'],
	'calls.released': ['完了', 'done'],
	'calls.expired': ['応答なし', 'holder lost'],
	'calls.refused': ['拒否', 'refused'],
	'calls.deadline': ['時間切れ', 'waited in vain'],
	'calls.cancelled': ['取消', 'left'],
	'calls.lost': ['消失', 'lost'],
	'ops.dead_jobs': ['失敗したジョブ', 'Dead jobs'],
	'ops.no_dead': ['失敗したジョブはありません', 'No dead jobs'],
	'ops.job': ['ジョブ', 'Job'],
	'ops.error': ['エラー', 'Error'],
	'ops.attempts': ['試行', 'Tries'],
	'ops.when': ['日時', 'When'],
	'ops.retry': ['再実行', 'Retry'],
	'ops.cancel_job': ['取消', 'Cancel'],
	'ops.nodes': ['推論ノード', 'Inference nodes'],
	'ops.no_nodes': ['ノードは登録されていません', 'No nodes'],
	'ops.node': ['ノード', 'Node'],
	'ops.state': ['状態', 'State'],
	'ops.models': ['モデル', 'Models'],
	'ops.inflight': ['処理中', 'In flight'],
	'ops.latency_ms': ['応答', 'Latency'],
	'ops.failures': ['失敗', 'Failures'],
	'ops.drain': ['切り離す', 'Drain'],
	'ops.undrain': ['戻す', 'Put back'],
	'state.up': ['稼働', 'Up'],
	'state.ejected': ['除外中', 'Ejected'],
	'state.draining': ['切離し中', 'Draining'],
	'state.unknown': ['不明', 'Unknown'],
	'state.ok': ['正常', 'OK'],
	'state.off': ['停止', 'Off'],
	'state.failing': ['起動失敗', 'Failing'],
	'ops.pools': ['ワーカープール', 'Worker pools'],
	'ops.no_pools': ['プールはありません', 'No pools'],
	'ops.pool': ['プール', 'Pool'],
	'ops.capacity': ['上限', 'Capacity'],
	'ops.in_use': ['使用中', 'In use'],
	'ops.idle': ['待機', 'Idle'],
	'ops.starting': ['起動中', 'Starting'],
	'ops.waiters': ['待ち', 'Waiting'],
	'ops.limits': ['モデル呼び出しの制限', 'Model limits'],
	'ops.no_limits': ['モデルは登録されていません', 'No models'],
	'ops.model': ['モデル', 'Model'],
	'ops.rate': ['上限', 'Limit'],
	'ops.tokens': ['トークン', 'Tokens'],
	'ops.concurrent': ['同時実行', 'Concurrent'],
	'ops.refused_minute': ['拒否/分', 'Refused/min'],
	'ops.from': ['設定元: {level}', 'set at: {level}'],
	'ops.audit': ['変更履歴', 'Audit'],
	'ops.no_audit': ['変更はまだありません', 'No changes yet'],
	'ops.who': ['変更者', 'Who'],
	'ops.action': ['操作', 'Action'],
	'ops.subject': ['対象', 'What'],
	'ops.changes': ['内容', 'Change'],
	'ops.dispatchers': ['ディスパッチャ', 'Dispatchers'],
	'ops.alive': ['{n} 稼働', '{n} alive'],
	'ops.confirm': ['変更を適用', 'Apply change'],
	'ops.confirm_title': ['変更の確認', 'Confirm the change'],
	'ops.confirm_note': ['すぐに反映され、変更履歴に記録されます。', 'Takes effect at once and is recorded in the audit.'],
	'ops.nothing': ['変更がありません', 'Nothing has changed'],
	'ops.done': ['変更しました', 'Changed'],
	'ops.retry_q': ['ジョブ {id} を再実行しますか？', 'Retry job {id}?'],
	'ops.cancel_q': ['ジョブ {id} を取り消しますか？', 'Cancel job {id}?'],
	'ops.drain_q': ['ノード {id} を切り離しますか？新しい処理は送られなくなります。', 'Drain node {id}? It gets no new calls.'],
	'ops.undrain_q': ['ノード {id} を戻しますか？', 'Put node {id} back?'],
	'field.total_units': ['総ユニット数', 'Total units'],
	'field.baseline_units': ['予約（巡回・録画）', 'Reserved for patrol'],
	'field.max_ui_users': ['最大同時ユーザー数', 'Most users at once'],
	'field.sub_cost': ['標準画質のコスト', 'Cost of standard quality'],
	'field.main_cost': ['高画質のコスト', 'Cost of high quality'],
	'field.modal_ttl_sec': ['表示時間（秒）', 'Viewing time (s)'],
	'field.max_capacity': ['最大ワーカー数', 'Most workers'],
	'field.min_idle': ['最小待機数', 'Idle workers kept'],
	'field.requests': ['リクエスト数', 'Requests'],
	'field.window_ms': ['期間（ミリ秒）', 'Window (ms)'],
	'field.concurrent': ['同時実行数', 'Concurrent calls'],
	'field.inherit': ['空欄: 上位の設定に従う', 'Empty: as the level above'],
};

export const language = document.documentElement.lang === 'ja' ? 'ja' : 'en';
const COLUMN = language === 'ja' ? 0 : 1;

/** t(key, {name: value}): the words, with {name} replaced. An unknown key shows as itself. */
export function t(key, values = {}) {
	const words = WORDS[key]?.[COLUMN] ?? key;
	return words.replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}

/** Words for a value that comes from the server; the value itself where there are none. */
export const word = (group, value) => WORDS[`${group}.${value}`]?.[COLUMN] ?? String(value);

export function translate(root = document) {
	for (const element of root.querySelectorAll('[data-t]'))
		element.textContent = t(element.dataset.t);
	for (const element of root.querySelectorAll('[data-t-label]'))
		element.setAttribute('aria-label', t(element.dataset.tLabel));
}

const locale = language === 'ja' ? 'ja-JP' : 'en-GB';
const formats = {
	number: new Intl.NumberFormat(locale),
	time: new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
	day: new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric' }),
	date: new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'short', day: 'numeric' }),
	relative: new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'narrow' }),
};

export const number = n => formats.number.format(n);
export const time = at => formats.time.format(new Date(at));
export const date = at => formats.date.format(new Date(at));

/** The time, and the day unless it is today. */
export function moment(at, now = Date.now()) {
	const d = new Date(at);
	return d.toDateString() === new Date(now).toDateString() ? time(d) : `${formats.day.format(d)} ${time(d)}`;
}

/** How long ago, roughly. */
export function ago(at, now) {
	const sec = Math.max(0, Math.round((now - new Date(at)) / 1000));
	if (sec < 90)
		return formats.relative.format(-sec, 'second');
	if (sec < 5400)
		return formats.relative.format(-Math.round(sec / 60), 'minute');
	if (sec < 129600)
		return formats.relative.format(-Math.round(sec / 3600), 'hour');
	return formats.relative.format(-Math.round(sec / 86400), 'day');
}

/** A length of time, roughly. */
export function duration(sec) {
	const [h, m, s] = language === 'ja' ? ['時間', '分', '秒'] : [' h', ' min', ' s'];
	if (sec < 60)
		return `${Math.round(sec)}${s}`;
	if (sec < 3600)
		return `${Math.floor(sec / 60)}${m}${sec < 600 && sec % 60 >= 1 ? ` ${Math.floor(sec % 60)}${s}` : ''}`;
	return `${Math.floor(sec / 3600)}${h} ${Math.floor(sec % 3600 / 60)}${m}`;
}

/** 4:07, as a clock that counts down. */
export const countdown = sec => `${Math.floor(sec / 60)}:${String(sec % 60).padStart(2, '0')}`;

// What a tag is called in English; the schema has Japanese labels. Others show their id.
const TAGS = {
	'human.presence': 'Person', 'human.multiple': 'Several people', 'behavior.loitering': 'Loitering', 'behavior.running': 'Running',
	'animal.presence': 'Animal', 'animal.deer': 'Deer', 'animal.boar': 'Boar', 'animal.cat': 'Cat', 'animal.dog': 'Dog',
	'vehicle.presence': 'Vehicle', 'vehicle.car': 'Car', 'vehicle.truck': 'Truck', 'hazard.fire': 'Fire', 'hazard.smoke': 'Smoke',
	'hazard.flood': 'Flood', 'camera.offline': 'Camera offline', 'camera.moved': 'Camera moved', 'camera.occluded': 'Camera covered',
	'camera.dark': 'Too dark', 'camera.glare': 'Glare', 'camera.blur': 'Out of focus', 'object_missing.suspected': 'Object missing?',
	'motion.detected': 'Motion',
};

export const tagLabel = (tag, labels) => (language === 'ja' ? labels?.[tag] : TAGS[tag]) ?? tag;
