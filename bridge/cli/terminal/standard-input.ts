import { fstatSync } from 'node:fs'
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import type { Readable } from 'node:stream'

/**
 * stdin of this process, as a stream that only gives `data`: what it reads is not buffered, so nobody can `read` it or iterate
 * over it, and nothing is read before somebody listens. Through the one of Node every piece takes 64 kB, and the way through a
 * buffer that is always empty: together a tenth of what a call costs. Whoever takes this must leave `process.stdin` alone.
 */
export function openStandardInput(): Readable {
  return isPipe() ? readPipe() : process.stdin
}

/** Or a socket, as Node gives its children. On Windows pipes are of several kinds, which Node knows how to tell apart. */
function isPipe(): boolean {
  if (process.platform === 'win32') return false
  const input = fstatSync(0)
  return input.isFIFO() || input.isSocket()
}

function readPipe(): Readable {
  const onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(readBytes),
    callback(length, bytes) {
      socket.emit('data', Buffer.from(bytes.subarray(0, length)))
      return true
    },
  }
  // The types know it of connections only.
  const options: SocketConstructorOpts & { manualStart: boolean; onread: OnReadOpts } = {
    fd: 0,
    readable: true,
    writable: false,
    manualStart: true,
    onread,
  }
  const socket = new Socket(options)
  return socket
}

const readBytes = 65_536
