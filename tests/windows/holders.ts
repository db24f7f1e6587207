import { onTestFinished } from 'vitest'
import { until } from '../support/until.ts'
import type { Windows, WindowsProcess } from './wine.ts'

/** Collects what a process writes. */
export function outputOf(child: WindowsProcess): () => string {
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (said += String(chunk)))
  return () => said
}

/** Holds files until it is killed: for itself alone (the flag is UV_FS_O_EXLOCK of libuv), or as SQLite does, which lets others read and write them. */
const holder = `
  const { openSync } = require('node:fs')
  const { DatabaseSync } = require('node:sqlite')
  const held = JSON.parse(process.argv[1]).map(([path, isAlone]) =>
    isAlone ? openSync(path, 0x10000000) : new DatabaseSync(path))
  console.log('held')
  setInterval(() => held.length, 1000)`

/** Starts a program that has files open: on Windows others cannot replace these, and some not even read them. */
export async function holdFiles(
  windows: Windows,
  files: readonly [path: string, isAlone: boolean][],
): Promise<void> {
  const child = windows.start(windows.node, ['-e', holder, JSON.stringify(files)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = outputOf(child)
  await until(() => said().includes('held'), said)
}

/**
 * Holds every new file of a folder at once for 40 ms, and all of them again and again, for itself alone: the flag is UV_FS_O_EXLOCK of
 * libuv.
 */
const scan = `
  const { closeSync, openSync, readdirSync } = require('node:fs')
  const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  const seen = new Set()
  for (let round = 0; ; round++) {
    const found = readdirSync(process.argv[1], { recursive: true, withFileTypes: true })
    const open = found.flatMap((each) => {
      const path = each.parentPath + '/' + each.name
      if (!each.isFile() || (round % 20 > 0 && seen.has(path))) return []
      try {
        const file = openSync(path, 0x10000000)
        seen.add(path)
        return [file]
      } catch {
        return []
      }
    })
    wait(open.length > 0 ? 40 : 0)
    open.forEach((file) => closeSync(file))
    wait(open.length > 0 ? 20 : 5)
  }`

/** Starts a program that has each file of a folder open for a moment, again and again, as a virus scanner may. */
export function scanFiles(windows: Windows, folder: string): void {
  const child = windows.start(windows.node, ['-e', scan, folder])
  onTestFinished(() => void child.kill('SIGKILL'))
}
