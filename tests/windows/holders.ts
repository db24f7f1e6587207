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

/** Holds every file of a folder for 40 of 160 ms, for itself alone: the flag is UV_FS_O_EXLOCK of libuv. */
const scan = `
  const { closeSync, openSync, readdirSync } = require('node:fs')
  const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  for (;;) {
    const found = readdirSync(process.argv[1], { recursive: true, withFileTypes: true })
    const open = found.flatMap((each) => {
      try {
        return each.isFile() ? [openSync(each.parentPath + '/' + each.name, 0x10000000)] : []
      } catch {
        return []
      }
    })
    wait(40)
    open.forEach((file) => closeSync(file))
    wait(120)
  }`

/** Starts a program that has each file of a folder open for a moment, again and again, as a virus scanner may. */
export function scanFiles(windows: Windows, folder: string): void {
  const child = windows.start(windows.node, ['-e', scan, folder])
  onTestFinished(() => void child.kill('SIGKILL'))
}
