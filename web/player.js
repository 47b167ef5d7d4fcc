// SPDX-License-Identifier: Apache-2.0
// Shows a camera for as long as a lease lasts: the lease's stream where this browser can play it (HLS, WHEP, or a
// WebSocket that sends fragmented MP4 or JPEG), else snapshots. Streams come from this site alone, as the
// Content-Security-Policy says; a streaming server elsewhere is to be proxied below it.
// stop() leaves nothing behind: no peer connection, track, source object, socket, object URL, timer or listener.
import { h } from './dom.js';
import { base, headers } from './api.js';

const SNAPSHOT_MS = { sub: 1000, main: 500 };
const START_TIMEOUT_MS = 8000;
const BUFFER_SEC = 30;

/** hls, whep, ws, or null: nothing that can be played here. */
export function streamKind(url) {
	let at;
	try {
		at = new URL(url, document.baseURI);
	} catch {
		return null;
	}
	if (at.host !== location.host)
		return null;
	const page = location.protocol === 'https:' ? ['https:', 'wss:'] : ['http:', 'ws:'];
	if (at.protocol === page[1])
		return 'ws';
	if (at.protocol !== page[0])
		return null;
	if (/\.m3u8$/.test(at.pathname))
		return document.createElement('video').canPlayType('application/vnd.apple.mpegurl') ? 'hls' : null;
	return /(^|\/)whep(\/|$)/.test(at.pathname) ? 'whep' : null;
}

/** Plays into place. quality: sub or main. onKind(kind): what is shown now (snapshots, hls, whep, ws). onFault: a stream could
 *  not be played and snapshots are shown instead. Returns an object with stop(). */
export function play(place, { cameraId, streamUrl, quality, onKind, onFault, onPicture }) {
	const gone = new AbortController();
	const cleanups = [];
	const context = { place, cameraId, streamUrl, quality, onPicture, signal: gone.signal, onGone: f => cleanups.push(f) };
	const kind = streamKind(streamUrl);
	let streaming = kind !== null;

	function clean() {
		while (cleanups.length > 0)
			cleanups.pop()();
		place.replaceChildren();
	}
	function snapshots() {
		onKind?.('snapshots');
		showSnapshots(context);
	}
	async function start() {
		if (kind === null) {
			snapshots();
			return;
		}
		onKind?.(kind);
		try {
			await { hls: showHls, whep: showWhep, ws: showSocket }[kind](context, fault);
		} catch (e) {
			fault(e);
		}
	}
	function fault(e) {
		if (gone.signal.aborted || !streaming)
			return;
		streaming = false;
		clean();
		onFault?.(e);
		snapshots();
	}
	start();
	return {
		stop() {
			gone.abort();
			clean();
		},
	};
}

function showSnapshots({ place, cameraId, quality, signal, onGone, onPicture }) {
	const image = h('img', { class: 'picture', alt: '' });
	const url = `${base}cameras/${encodeURIComponent(cameraId)}/latest.jpg`;
	let timer, shown, etag;

	async function next() {
		try {
			const response = await fetch(url, { headers: etag ? { ...headers(), 'If-None-Match': etag } : headers(), signal, cache: 'no-store' });
			if (response.status === 200) {
				const blob = await response.blob();
				await show(URL.createObjectURL(blob));
				etag = response.headers.get('ETag');
			}
		} catch {
			// the next one may come
		}
		if (!signal.aborted)
			timer = setTimeout(next, SNAPSHOT_MS[quality]);
	}
	async function show(objectUrl) {
		const loaded = new Image();
		loaded.src = objectUrl;
		try {
			await loaded.decode();
		} catch (e) {
			URL.revokeObjectURL(objectUrl);
			throw e;
		}
		if (signal.aborted) {
			URL.revokeObjectURL(objectUrl);
			return;
		}
		image.src = objectUrl;
		if (shown)
			URL.revokeObjectURL(shown);
		shown = objectUrl;
		onPicture?.();
	}
	place.replaceChildren(image);
	onGone(() => {
		clearTimeout(timer);
		image.removeAttribute('src');
		if (shown)
			URL.revokeObjectURL(shown);
	});
	next();
}

function videoElement({ place, onGone, onPicture, signal }) {
	const video = h('video', { class: 'picture', playsinline: true, autoplay: true });
	video.muted = true;
	video.addEventListener('playing', () => onPicture?.(), { signal });
	place.replaceChildren(video);
	onGone(() => {
		video.pause();
		for (const track of video.srcObject?.getTracks() ?? [])
			track.stop();
		video.srcObject = null;
		video.removeAttribute('src');
		video.load();
	});
	return video;
}

/** Fails unless a picture has come in time. */
function expectPicture(video, { onGone, signal }, fault) {
	const timer = setTimeout(() => fault(new Error('no picture came')), START_TIMEOUT_MS);
	onGone(() => clearTimeout(timer));
	video.addEventListener('playing', () => clearTimeout(timer), { signal });
	video.addEventListener('error', () => fault(video.error ?? new Error('the stream cannot be played')), { signal });
}

function showHls(context, fault) {
	const video = videoElement(context);
	expectPicture(video, context, fault);
	video.src = context.streamUrl;
}

async function showWhep(context, fault) {
	const video = videoElement(context);
	const peer = new RTCPeerConnection();
	let session = null;
	context.onGone(() => {
		peer.ontrack = peer.onconnectionstatechange = peer.onicegatheringstatechange = null;
		for (const receiver of peer.getReceivers())
			receiver.track.stop();
		peer.close();
		if (session)
			fetch(session, { method: 'DELETE', headers: headers(), keepalive: true }).catch(() => {});
	});
	expectPicture(video, context, fault);
	peer.addTransceiver('video', { direction: 'recvonly' });
	peer.addTransceiver('audio', { direction: 'recvonly' });
	peer.ontrack = e => { video.srcObject ??= e.streams[0] ?? new MediaStream([e.track]); };
	peer.onconnectionstatechange = () => {
		if (peer.connectionState === 'failed')
			fault(new Error('the connection failed'));
	};
	await peer.setLocalDescription(await peer.createOffer());
	await gathered(peer);
	const response = await fetch(context.streamUrl, { method: 'POST', signal: context.signal, body: peer.localDescription.sdp,
		headers: { ...headers(), 'Content-Type': 'application/sdp', Accept: 'application/sdp' } });
	if (!response.ok)
		throw new Error(`the stream was refused with ${response.status}`);
	const location = response.headers.get('Location');
	session = location && new URL(location, response.url).href;
	await peer.setRemoteDescription({ type: 'answer', sdp: await response.text() });
}

/** All addresses are in the offer: WHEP then needs one request. */
function gathered(peer) {
	return new Promise(resolve => {
		const timer = setTimeout(resolve, 2000);
		const check = () => {
			if (peer.iceGatheringState === 'complete' || peer.signalingState === 'closed') {
				clearTimeout(timer);
				resolve();
			}
		};
		peer.onicegatheringstatechange = check;
		check();
	});
}

/** Text messages name the media type of what follows (alone, or as {"type": "mse", "value": …}); binary ones are fragments of MP4,
 *  or each a JPEG. */
function showSocket(context, fault) {
	const socket = new WebSocket(new URL(context.streamUrl, document.baseURI));
	let sink = null;
	const timer = setTimeout(() => fault(new Error('no picture came')), START_TIMEOUT_MS);
	context.onGone(() => {
		clearTimeout(timer);
		socket.onopen = socket.onmessage = socket.onclose = null;
		socket.close();
	});
	socket.binaryType = 'arraybuffer';
	socket.onopen = () => socket.send(JSON.stringify({ type: 'mse', value: supportedCodecs() }));
	socket.onclose = () => fault(new Error('the stream ended'));
	socket.onmessage = e => {
		try {
			if (typeof e.data === 'string')
				sink ??= mediaSink(context, mediaType(e.data), fault);
			else
				(sink ??= jpegSink(context, e.data))(e.data);
		} catch (error) {
			fault(error);
			return;
		}
		if (typeof e.data !== 'string')
			clearTimeout(timer);
	};
}

const CODECS = ['avc1.640029', 'avc1.64002A', 'avc1.640033', 'hvc1.1.6.L153.B0', 'mp4a.40.2', 'mp4a.40.5', 'flac', 'opus'];
const supportedCodecs = () => CODECS.filter(c => MediaSource.isTypeSupported(`video/mp4; codecs="${c}"`)).join();

function mediaType(text) {
	const type = text.startsWith('{') ? JSON.parse(text).value : text;
	if (!MediaSource.isTypeSupported(type))
		throw new Error(`this browser cannot play ${type}`);
	return type;
}

function mediaSink(context, type, fault) {
	const video = videoElement(context);
	const source = new MediaSource();
	const url = URL.createObjectURL(source);
	const waiting = [];
	let buffer = null;
	context.onGone(() => {
		waiting.length = 0;
		URL.revokeObjectURL(url);
	});
	function feed() {
		if (!buffer || buffer.updating || context.signal.aborted)
			return;
		const end = buffer.buffered.length > 0 ? buffer.buffered.end(buffer.buffered.length - 1) : 0;
		if (end - buffer.buffered.start?.(0) > 2 * BUFFER_SEC) {
			buffer.remove(0, end - BUFFER_SEC);
		} else if (waiting.length > 0) {
			try {
				buffer.appendBuffer(waiting.shift());
			} catch (e) {
				fault(e);
			}
		}
	}
	source.addEventListener('sourceopen', () => {
		buffer = source.addSourceBuffer(type);
		buffer.addEventListener('updateend', feed, { signal: context.signal });
		feed();
	}, { once: true, signal: context.signal });
	video.addEventListener('error', () => fault(video.error), { signal: context.signal });
	video.src = url;
	return data => {
		waiting.push(data);
		feed();
	};
}

function jpegSink(context, first) {
	const start = new Uint8Array(first, 0, 2);
	if (start[0] !== 0xff || start[1] !== 0xd8)
		throw new Error('the stream does not say what it is');
	const canvas = h('canvas', { class: 'picture' });
	const pen = canvas.getContext('2d');
	let drawing = false;
	context.place.replaceChildren(canvas);
	return async data => {
		if (drawing)
			return; // late pictures are dropped, not queued
		drawing = true;
		try {
			const bitmap = await createImageBitmap(new Blob([data], { type: 'image/jpeg' }));
			if (!context.signal.aborted) {
				canvas.width = bitmap.width;
				canvas.height = bitmap.height;
				pen.drawImage(bitmap, 0, 0);
				context.onPicture?.();
			}
			bitmap.close();
		} finally {
			drawing = false;
		}
	};
}
