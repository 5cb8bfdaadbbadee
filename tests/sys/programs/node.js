// SPDX-License-Identifier: LGPL-2.1-or-later
// What Node.js programs do that asks something of the kernel.
'use strict';
const assert = require('node:assert');
const { execFileSync, fork, spawn } = require('node:child_process');
const crypto = require('node:crypto');
const dns = require('node:dns');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const util = require('node:util');
const zlib = require('node:zlib');
const { once } = require('node:events');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

async function files() {
	const directory = await fs.promises.mkdtemp('node-');
	const file = path.join(directory, 'f');
	const watcher = fs.watch(directory);
	const changed = once(watcher, 'change');
	await fs.promises.writeFile(file, 'text', { mode: 0o600 });
	await changed;
	watcher.close();
	await fs.promises.copyFile(file, file + '2');
	await fs.promises.chmod(file, 0o644);
	assert.strictEqual(fs.readFileSync(file + '2', 'utf8'), 'text');
	assert.strictEqual((await fs.promises.readdir(directory)).length, 2);
	await fs.promises.rm(directory, { recursive: true });
}

async function children() {
	assert.strictEqual(
		execFileSync('cat', { input: 'in', encoding: 'utf8' }), 'in');
	const shell = spawn('sh', ['-c', 'echo out; exit 3'], { detached: true });
	let out = '';
	shell.stdout.on('data', (data) => { out += data; });
	assert.strictEqual((await once(shell, 'close'))[0], 3);
	assert.strictEqual(out, 'out\n');
	const child = fork(__filename, ['child']);
	child.send(20);
	assert.strictEqual((await once(child, 'message'))[0], 21);
	await once(child, 'exit');
}

async function threads() {
	const worker = new Worker(__filename);
	const shared = new Int32Array(new SharedArrayBuffer(4));
	worker.postMessage(shared);
	await once(worker, 'message');
	assert.strictEqual(Atomics.load(shared, 0), 1);
	await worker.terminate();
}

async function network() {
	const server = http.createServer((request, response) => {
		response.end('body of ' + request.url);
	});
	await once(server.listen(0, '127.0.0.1'), 'listening');
	const url = `http://127.0.0.1:${server.address().port}/x`;
	assert.strictEqual(await (await fetch(url)).text(), 'body of /x');
	server.closeAllConnections();
	server.close();
	await dns.promises.lookup('localhost');
	os.networkInterfaces();
}

async function work() {
	const scrypt = util.promisify(crypto.scrypt);
	assert.strictEqual((await scrypt('a', 'b', 32)).length, 32);
	const gzip = util.promisify(zlib.gzip);
	assert.ok((await gzip(Buffer.alloc(1 << 20))).length < 4096);
	os.cpus();
	os.setPriority(os.getPriority());
}

async function main() {
	await files();
	await children();
	await threads();
	await network();
	await work();
	console.log('ok');
}

if (!isMainThread) {
	parentPort.once('message', (shared) => {
		Atomics.store(shared, 0, 1);
		parentPort.postMessage('done');
	});
} else if (process.argv[2] === 'child') {
	process.once('message', (n) => {
		process.send(n + 1);
		process.disconnect();
	});
} else {
	main();
}
