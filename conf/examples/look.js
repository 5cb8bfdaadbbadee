// SPDX-License-Identifier: LGPL-2.1-or-later
// Look around: what may this process do here?
//
//     sbx-launch --profile node.ini look.js
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');

function canWrite(directory) {
	const file = path.join(directory, `.look.${process.pid}`);

	try {
		fs.writeFileSync(file, '');
		fs.unlinkSync(file);
		return 'writable';
	} catch (error) {
		return error.code;
	}
}

console.log('node        ', process.version, process.execPath);
console.log('ids         ', process.getuid(), process.getgid());
console.log('environment ', Object.keys(process.env).sort().join(' '));
for (const place of [process.cwd(), '/tmp', '/home', '/etc'])
	console.log(place.padEnd(12), canWrite(place));

const socket = net.connect({ host: '192.0.2.1', port: 53, timeout: 2000 });
const report = (text) => {
	console.log('an address  ', text);
	socket.destroy();
};
socket.on('connect', () => report('reachable'));
socket.on('timeout', () => report('no answer'));
socket.on('error', (error) => report(error.code));
