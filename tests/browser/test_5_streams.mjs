// SPDX-License-Identifier: Apache-2.0
// Streams that a browser can play: a WebSocket of JPEGs and WHEP, from a streaming server of the test's behind the same address.
import { createHash } from 'node:crypto';
import http from 'node:http';
import { assert, same, test, waitUntil } from './harness.mjs';

/** A site that is the front, and has streams below /stream/. answer(offer): of WHEP. */
async function site(front, picture, answer) {
	const seen = { sockets: new Set(), opened: 0, deleted: 0 };
	const server = http.createServer((request, response) => {
		if (request.url === '/stream/whep' && request.method === 'POST') {
			let offer = '';
			request.on('data', d => { offer += d; }).on('end', async () => {
				const sdp = await answer(offer);
				response.writeHead(201, { 'Content-Type': 'application/sdp', Location: '/stream/whep/1' }).end(sdp);
			});
		} else if (request.url === '/stream/whep/1' && request.method === 'DELETE') {
			seen.deleted++;
			response.writeHead(200).end();
		} else if (request.url.startsWith('/stream/')) {
			response.writeHead(404).end();
		} else {
			const { hostname, port } = new URL(front.url);
			const onward = http.request({ hostname, port, path: request.url, method: request.method, headers: request.headers }, answered => {
				response.writeHead(answered.statusCode, answered.headers);
				answered.pipe(response);
			});
			onward.on('error', () => response.destroy());
			request.pipe(onward);
		}
	});
	server.on('upgrade', (request, socket) => {
		const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
		socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
		seen.sockets.add(socket);
		seen.opened++;
		const head = Buffer.alloc(picture.length < 65536 ? 4 : 10);
		head[0] = 0x82; // a whole binary message
		head[1] = picture.length < 65536 ? 126 : 127;
		if (picture.length < 65536)
			head.writeUInt16BE(picture.length, 2);
		else
			head.writeBigUInt64BE(BigInt(picture.length), 2);
		const timer = setInterval(() => socket.write(Buffer.concat([head, picture])), 200);
		const gone = () => {
			clearInterval(timer);
			seen.sockets.delete(socket);
			socket.destroy();
		};
		socket.on('data', d => (d[0] & 0x0f) === 8 && gone()).on('close', gone).on('error', gone);
	});
	await new Promise(done => server.listen(0, '127.0.0.1', done));
	return { seen, url: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() ?? server.close() };
}

async function watch(page, camera) {
	await page.locator(`.tile[data-key="${camera}"]`).click();
	await page.locator('.viewer[data-state="playing"]').waitFor();
}

test('a WebSocket of pictures is played, and closed with the modal', async (stack, front) => {
	const streams = await site(front, stack.picture('parking', 4));
	try {
		const camera = stack.camera({ url: `${streams.url.replace('http', 'ws')}/stream/ws` });
		await stack.frame(front, camera);
		const { page, check } = await stack.visit(front, '', { url: streams.url, lang: 'en-US' });
		await watch(page, camera);
		check();
		same(await page.locator('.chip.kind').textContent(), 'Video');
		assert(await page.locator('canvas.picture').evaluate(c => c.width > 100 && c.getContext('2d').getImageData(9, 9, 1, 1).data[3] === 255), 'a picture was drawn');
		await page.keyboard.press('Escape');
		await waitUntil(() => streams.seen.opened === 1 && streams.seen.sockets.size === 0, 'the end of the socket');
		check();
	} finally {
		streams.close();
	}
});

test('WHEP is played, and nothing of it is left', async (stack, front) => {
	const publisher = await stack.visit(front); // any page that can draw
	const streams = await site(front, Buffer.alloc(0), offer => publisher.page.evaluate(async sdp => {
		const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 });
		const pen = canvas.getContext('2d');
		setInterval(() => {
			pen.fillStyle = `hsl(${Date.now() / 20 % 360} 80% 50%)`;
			pen.fillRect(0, 0, 320, 180);
		}, 50);
		const peer = globalThis.__peer = new RTCPeerConnection();
		for (const track of canvas.captureStream(20).getTracks())
			peer.addTrack(track);
		await peer.setRemoteDescription({ type: 'offer', sdp });
		await peer.setLocalDescription(await peer.createAnswer());
		await new Promise(done => {
			if (peer.iceGatheringState === 'complete')
				done();
			peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done();
			setTimeout(done, 3000);
		});
		return peer.localDescription.sdp;
	}, offer));
	try {
		const camera = stack.camera({ url: `${streams.url}/stream/whep` });
		await stack.frame(front, camera);
		const { page, check } = await stack.visit(front, '', { url: streams.url, lang: 'en-US', init: () => {
			const Real = RTCPeerConnection;
			globalThis.__peers = [];
			globalThis.RTCPeerConnection = class extends Real {
				constructor(...a) {
					super(...a);
					globalThis.__peers.push(this);
				}
			};
		} });
		await watch(page, camera);
		same(await page.locator('video.picture').evaluate(v => [v.videoWidth, v.readyState >= 2]), [320, true]);
		await page.evaluate(() => { globalThis.__video = document.querySelector('video'); });
		await page.keyboard.press('Escape');
		await page.locator('.viewer').waitFor({ state: 'detached' });
		same(await page.evaluate(() => globalThis.__peers.map(p => [p.connectionState, p.getReceivers().every(r => r.track.readyState === 'ended')])), [['closed', true]]);
		same(await page.evaluate(() => [globalThis.__video.srcObject, globalThis.__video.isConnected]), [null, false]);
		await waitUntil(() => streams.seen.deleted === 1, 'the end of the session');
		check();
	} finally {
		streams.close();
	}
});

test('a stream that cannot be played gives way to snapshots', async (stack, front) => {
	const camera = stack.camera({ url: `${front.url}/stream/nothing/whep` });
	const elsewhere = stack.camera(); // wss://camserver/…, as the specification's default: another site
	await stack.frame(front, camera);
	await stack.frame(front, elsewhere);
	const { page, check } = await stack.visit(front, '', { lang: 'en-US' });
	await watch(page, camera);
	same(await page.locator('.viewer-note').textContent(), 'The stream cannot be played here; showing snapshots');
	await page.keyboard.press('Escape');
	await watch(page, elsewhere);
	same(await page.locator('.chip.kind').textContent(), 'Snapshots');
	check();
});
