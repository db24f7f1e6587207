// Runs in Wine and starts processes for the tests, because a pipe of Linux cannot be the stdout of Node in Wine, and pipes of Node can.
// Orders come as lines of JSON, what the processes write goes back in the same way.
'use strict'
const { spawn } = require('node:child_process')
const { connect } = require('node:net')
const { createInterface } = require('node:readline')

const children = new Map()
const socket = connect(Number(process.argv[2]), '127.0.0.1', () => tell({ event: 'ready', pid: process.pid }))
socket.on('close', () => process.exit())
// Ctrl-C comes to every process of the console.
process.on('SIGINT', () => {})

const tell = (message) => socket.write(`${JSON.stringify(message)}\n`)

const orders = {
  start({ id, program, args, options }) {
    const child = spawn(program, args, { stdio: 'pipe', ...options })
    children.set(id, child)
    for (const stream of ['stdout', 'stderr'])
      child[stream].on('data', (bytes) => tell({ id, event: stream, bytes: bytes.toString('base64') }))
    child.stdin?.on('error', () => {})
    if (options.keepsStdin) child.stdin.destroy = () => child.stdin
    child.on('error', (error) =>
      tell({ id, event: 'stderr', bytes: Buffer.from(String(error)).toString('base64') }),
    )
    child.on('exit', (code, signal) => tell({ id, event: 'exit', code, signal }))
    child.on('close', (code, signal) => tell({ id, event: 'close', code, signal }))
    tell({ id, event: 'started', pid: child.pid })
  },
  write: ({ id, bytes }) => children.get(id)?.stdin.write(Buffer.from(bytes, 'base64')),
  end: ({ id }) => children.get(id)?.stdin.end(),
  kill: ({ id }) => children.get(id)?.kill('SIGKILL'),
}

createInterface({ input: socket }).on('line', (line) => {
  const { order, ...rest } = JSON.parse(line)
  orders[order](rest)
})
