import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { findProgram, skipWithout } from '../find-program.ts'

/** Returns whether a display is available. Prints one line when not, and throws instead when CI=true. */
export function hasVirtualDisplay(): boolean {
  return (
    ['Xvfb', 'openbox', 'xdotool'].every(findProgram) ||
    skipWithout('Xvfb, openbox or xdotool is missing: install the apt packages `xvfb openbox xdotool`')
  )
}

/** An invisible screen with a window manager and a keyboard, for features of real windows. */
export interface VirtualDisplay {
  /** Value of DISPLAY. */
  name: string
  /** Presses a key, by its X name (`Tab`, `Return`), in the focused window. */
  press(key: string): Promise<void>
  close(): Promise<void>
}

export async function startVirtualDisplay(): Promise<VirtualDisplay> {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = (await once(server.stdio[3] as Readable, 'data')) as [Buffer]
  const name = `:${number.toString().trim()}`
  const env = { ...process.env, DISPLAY: name }
  const manager = spawn('openbox', [], { env, stdio: 'ignore' })
  return {
    name,
    press: async (key) => void (await promisify(execFile)('xdotool', ['key', key], { env })),
    async close() {
      await end(manager)
      await end(server)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  await ended
}
