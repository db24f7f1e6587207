import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clients } from '../../install/client-table.ts'
import { runCommand } from '../../../tests/support/bridge/cli/command-run.ts'

const ids = clients.map(({ id }) => id)
const commands = ['login', 'logout', 'status', 'token', 'doctor', 'install', 'uninstall', 'completion']

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-completion-'))
  mkdirSync(join(folder, 'my files'))
  writeFileSync(join(folder, 'my files.pem'), '')
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await runCommand(['completion', shell], { home: folder })
    writeFileSync(join(folder, `script.${shell}`), stdout)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What a line is completed with, given as the words that the shell makes of it; the last one is being typed. */
type Complete = (...words: string[]) => string[]

function output(program: string, args: readonly string[]): string[] {
  const text = execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }).toString()
  return text.split('\n').filter((line) => line !== '')
}

const inBash: Complete = (...words) => {
  const script =
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _drawbridge; printf "%s\\n" "${COMPREPLY[@]}"'
  return output('bash', ['-c', script, 'bash', join(folder, 'script.bash'), ...words])
}

// bashcompinit runs the function under these rules, with a compgen of its own that works at a prompt only.
const inZsh: Complete = (...words) => {
  const script = `autoload() { : }; bashcompinit() { : }; complete() { : }; source "$1"; shift
    compgen() { for word in \${=2}; do [[ $word == "$4"* ]] && print -r -- $word; done }
    emulate sh; setopt ksharrays; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1))
    _drawbridge; printf "%s\\n" "\${COMPREPLY[@]}"`
  return output('zsh', ['-fc', script, 'zsh', join(folder, 'script.zsh'), ...words])
}

const inFish: Complete = (...words) => {
  const script = 'source $argv[1]; complete -C $argv[2] | string split -f 1 \\t; true'
  return output('fish', ['--no-config', '-c', script, join(folder, 'script.fish'), words.join(' ')])
}

describe('completion', () => {
  describe.each<[shell: string, path: string, complete: Complete]>([
    ['bash', '/usr/bin/bash', inBash],
    ['zsh', '/usr/bin/zsh', inZsh],
    ['fish', '/usr/bin/fish', inFish],
  ])('in %s', (_shell, path, complete) => {
    it.skipIf(!existsSync(path)).each<[words: string[], expected: readonly string[]]>([
      [[''], commands],
      [['log'], ['login', 'logout']],
      [['install', ''], ids],
      [['uninstall', 'cu'], ['cursor']],
      [['install', '--print', 'cu'], ['cursor']],
      [['install', 'cursor', 'c'], []],
      [['token', ''], ['set']],
      [
        ['completion', ''],
        ['bash', 'zsh', 'fish'],
      ],
      [['login', ''], []],
      [['login', '--fo'], ['--force']],
      [
        ['x', '--transport', 'sse'],
        ['sse-first', 'sse-only'],
      ],
      [['x', '--header', ''], []],
      [['install', '--name', ''], []],
    ])('%j is completed by %j', (words, expected) => {
      expect(complete('drawbridge', ...words).sort()).toEqual([...expected].sort())
    })
  })

  it('in bash takes values behind an equals sign, and files and folders with blanks', () => {
    expect(inBash('drawbridge', 'x', '--transport', '=')).toContain('http-only')
    expect(inBash('drawbridge', 'x', '--transport', '=', 'sse-o')).toEqual(['sse-only'])
    expect(inBash('drawbridge', 'x', '--ca', 'my').sort()).toEqual(['my files', 'my files.pem'])
    expect(inBash('drawbridge', 'x', '--home', 'my')).toEqual(['my files'])
  })
})
