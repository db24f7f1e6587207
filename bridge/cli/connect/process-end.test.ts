import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const module = fileURLToPath(new URL('./process-end.ts', import.meta.url))

describe('the end of a process', () => {
  let folder: string
  beforeEach(() => void (folder = temporaryFolder()))

  function killLater(pid: number): void {
    expect(pid).toBeGreaterThan(1)
    onTestFinished(() => void spawnSync('kill', ['-9', String(pid)]))
  }

  /** A process that says why it was told to end, and then goes on. */
  function script(): string {
    const path = join(folder, 'child.ts')
    writeFileSync(
      path,
      `import { watchProcessEnd } from ${JSON.stringify(module)}
       watchProcessEnd((reason) => console.log(reason))
       setInterval(() => {}, 1000)
       console.log('pid ' + process.pid)`,
    )
    return path
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s calls stop once, and a second signal ends the process',
    async (signal) => {
      const child = spawn(process.execPath, [script()], { stdio: ['ignore', 'pipe', 'inherit'] })
      killLater(child.pid ?? 0)
      let out = ''
      child.stdout.on('data', (chunk) => (out += String(chunk)))
      await vi.waitFor(() => expect(out).toContain('pid'), 10_000)
      child.kill(signal)
      await vi.waitFor(() => expect(out).toContain(signal), 10_000)
      const exit = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
      child.kill(signal)
      expect(await exit).toBe(0)
      expect(out.split(signal)).toHaveLength(2)
    },
  )

  it.skipIf(process.platform === 'win32')('a vanished parent calls stop', async () => {
    const path = script()
    // The parent in between: it starts the process and ends at a word.
    const between = spawn(
      process.execPath,
      [
        '-e',
        `require('node:child_process').spawn(process.execPath, [${JSON.stringify(path)}], { stdio: ['ignore', 1, 2] }); process.stdin.on('data', () => process.exit())`,
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    let out = ''
    between.stdout.on('data', (chunk) => (out += String(chunk)))
    await vi.waitFor(() => expect(out).toContain('pid'), 10_000)
    killLater(Number(/pid (\d+)/.exec(out)?.[1]))
    between.stdin.write('end')
    await vi.waitFor(() => expect(out).toContain('the parent process is gone'), 10_000)
  })
})
