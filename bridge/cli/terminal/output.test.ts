import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const output = fileURLToPath(new URL('./output.ts', import.meta.url))

/** Runs a few lines against the real terminal of a child process. */
function run(
  lines: string,
  options: { environment?: Record<string, string>; closeStdout?: boolean; readsAfterMs?: number } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const script = `import { endProcess, say, systemTerminal } from ${JSON.stringify(output)}\n${lines}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env['PATH'], ...options.environment },
  })
  let [stdout, stderr] = ['', '']
  if (options.closeStdout) child.stdout.destroy()
  else setTimeout(() => child.stdout.on('data', (chunk) => (stdout += String(chunk))), options.readsAfterMs)
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  child.stdin.end('typed')
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })))
}

it('the terminal prints facts to stdout, the rest to stderr, and no colour or progress to a pipe', async () => {
  const lines = `const t = systemTerminal()
      t.print(t.colour('red', 'fact')); t.note('note'); t.overwrite('wait'); say('said'); t.print(String(t.isInteractive))`
  expect(await run(lines)).toEqual({ code: 0, stdout: 'fact\nfalse\n', stderr: 'note\nsaid\n' })
})

it('the terminal prints notes on lines of their own during progress', async () => {
  const lines = `process.stderr.isTTY = process.stdin.isTTY = true
      const t = systemTerminal()
      t.note('a'); t.overwrite('wait'); t.overwrite('still'); t.note('b'); t.note('c'); t.overwrite('')`
  const line = '\r\u001B[2K'
  expect((await run(lines)).stderr).toBe(`a\n${line}wait${line}still${line}b\nc\n${line}`)
})

it('the terminal uses colour if FORCE_COLOR asks for it', async () => {
  const lines = `const t = systemTerminal(); t.print(t.colour('red', 'fact'))`
  const { stdout } = await run(lines, { environment: { FORCE_COLOR: '1' } })
  expect(stdout).toBe('\u001B[31mfact\u001B[39m\n')
})

it('the terminal does not fail if its reader stops', async () => {
  const lines = `const t = systemTerminal()
      for (let n = 0; n < 2000; n += 1) t.print('x'.repeat(1000))
      setTimeout(() => t.note('still here'), 50)`
  expect(await run(lines, { closeStdout: true })).toMatchObject({ code: 0, stderr: 'still here\n' })
})

it('the terminal reads piped input', async () => {
  const lines = `const t = systemTerminal(); let all = ''
      for await (const chunk of t.input) all += chunk
      t.print(all)`
  expect((await run(lines)).stdout).toBe('typed\n')
})

it('the terminal prints everything to a waiting pager before the process ends', async () => {
  const lines = `setInterval(() => {}, 1000)
      const t = systemTerminal(); for (let n = 0; n < 1000; n += 1) t.print('x'.repeat(999)); endProcess(3)`
  const { code, stdout } = await run(lines, { readsAfterMs: 1000 })
  expect(code).toBe(3)
  expect(stdout).toHaveLength(1_000_000)
})

it('the terminal ends the process if the reader takes nothing', async () => {
  const lines = `const t = systemTerminal(); for (let n = 0; n < 1000; n += 1) t.print('x'.repeat(999)); endProcess(3)`
  expect((await run(lines, { closeStdout: true })).code).toBe(3)
})
