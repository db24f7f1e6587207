import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { holdFiles } from './holders.ts'
import { launcherIn, runBridge } from './installed.ts'
import type { Windows, WindowsOutcome } from './wine.ts'

interface Row {
  words: readonly string[]
  /** The file that is held, in a folder of its own, and what is in it. */
  file: string
  text: string
  /** Whether others cannot even read it. */
  isAlone: boolean
  /** What the command says; undefined if it succeeds. */
  problem: RegExp | undefined
  nextStep?: string
}

const key = `first:${Buffer.alloc(32, 1).toString('base64')}\n`
const rotate = ['keys', 'rotate']
const init = ['init', '--provider', 'none', '--yes', '--force', '--base-url', 'http://localhost:8787']
const install = ['install', 'cursor', 'https://mcp.example.com/mcp', '--project', '--yes']
const close = 'Close the program that has '

const rows: readonly Row[] = [
  {
    words: rotate,
    file: 'secret-keys',
    text: key,
    isAlone: false,
    problem: /The key file secret-keys cannot be changed/,
    nextStep: 'where it can be written and no other program has it open.',
  },
  {
    words: rotate,
    file: 'secret-keys',
    text: key,
    isAlone: true,
    problem: /another program has secret-keys open/,
    nextStep: 'Close it, and run this again.',
  },
  ...[false, true].map((isAlone): Row => ({
    words: init,
    file: 'drawbridge.env',
    text: 'A=1\n',
    isAlone,
    problem: /EPERM|EBUSY/,
    nextStep: `${close}the file open`,
  })),
  {
    words: init,
    file: '.gitignore',
    text: 'node_modules\n',
    isAlone: true,
    problem: /EBUSY/,
    nextStep: `${close}the file open`,
  },
  { words: install, file: '.cursor\\mcp.json', text: '{}', isAlone: false, problem: undefined },
  {
    words: install,
    file: '.cursor\\mcp.json',
    text: '{}',
    isAlone: true,
    problem: /mcp\.json cannot be read \(EBUSY\)/,
    nextStep: `${close}it open, then run the command again.`,
  },
]

/** The case of files that another program has open for longer than a command waits. */
export function heldCases(windowsOf: () => Windows): void {
  it('a command in Windows whose file another program has open writes into it if it may, or leaves it as it is and says what to do', async () => {
    const windows = windowsOf()
    const placed = rows.map((row, index) => Object.assign({ folder: `${windows.home}\\Offen ${index}` }, row))
    for (const { folder, file, text } of placed) {
      mkdirSync(windows.here(`${folder}\\.cursor`), { recursive: true })
      writeFileSync(windows.here(`${folder}\\${file}`), text)
    }
    await holdFiles(
      windows,
      placed.map(({ folder, file, isAlone }) => [`${folder}\\${file}`, isAlone]),
    )
    const server = launcherIn(windows, 'drawbridge-server')
    const env = { DRAWBRIDGE_SECRET_KEYS: 'file:secret-keys' }
    const run = (words: readonly string[], cwd: string): Promise<WindowsOutcome> =>
      words === install
        ? runBridge(windows, words, { cwd })
        : windows.run(windows.node, [server, ...words], { cwd, env: words === rotate ? env : {} })
    await Promise.all(
      placed.map(async ({ words, folder, file, text, problem, nextStep = '' }) => {
        const { code, stderr } = await run(words, folder)
        const isChanged = readFileSync(windows.here(`${folder}\\${file}`), 'utf8') !== text
        expect([code === 0, isChanged], stderr).toEqual([!problem, !problem])
        expect(stderr).toMatch(problem ?? /has the new entry/)
        expect(stderr).toContain(nextStep)
        const left = readdirSync(windows.here(folder), { recursive: true, encoding: 'utf8' })
        expect(left.filter((name) => /\.(?:new|tmp)$/.test(name))).toEqual([])
      }),
    )
  })
}
