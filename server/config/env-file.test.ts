import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { checkSettings } from './config.ts'
import { loadEnvFile } from './env-file.ts'
import { readSettings } from './setting-source.ts'

let path: string
beforeEach(() => {
  path = join(temporaryFolder(), 'drawbridge.env')
})

type Environment = Record<string, string | undefined>

/** The environment after a file with these lines was loaded. */
function loaded(text: string | Buffer, environment: Environment = {}): Environment {
  writeFileSync(path, text)
  loadEnvFile(path, environment)
  return environment
}

/** What the command line would print of a file with these lines; FILE stands for its path. */
function problemsOf(text: string, environment: Environment = {}): string[] {
  writeFileSync(path, text)
  const places = loadEnvFile(path, environment)
  const { problems } = checkSettings(readSettings({}, environment, places), { production: false })
  return problems.map((problem) => problem.replaceAll(path, 'FILE'))
}

describe('the variables of a file', () => {
  it.each([
    ['A=1\nB=2', { A: '1', B: '2' }],
    ['# comment\n\n  A = spaces around  \r\nexport B=2\r\n', { A: 'spaces around', B: '2' }],
    ['A="quoted # text"\nB=\'single\'\nC=bare # comment', { A: 'quoted # text', B: 'single', C: 'bare' }],
    ['A="two\nlines"\nB=2', { A: 'two\nlines', B: '2' }],
    ['A=x=y:z/?q=1&r=2\nB=', { A: 'x=y:z/?q=1&r=2', B: '' }],
    ['\uFEFFA=after a byte order mark', { A: 'after a byte order mark' }],
    ['A=1\nA=2', { A: '2' }],
    ['', {}],
  ])('%j is read as %j', (text, values) => expect(loaded(text)).toEqual(values))

  it('a file that the Windows shell wrote in UTF-16 is read', () => {
    expect(loaded(Buffer.from('\uFEFFA=1\r\n', 'utf16le'))).toEqual({ A: '1' })
  })

  it('the variables of the environment win, even empty ones', () => {
    expect(loaded('A=file\nB=file\nC=file', { A: 'real', B: '' })).toEqual({ A: 'real', B: '', C: 'file' })
  })
})

describe('the faults of a file of variables', () => {
  it('a faulty setting is named with its file and line', () => {
    expect(problemsOf('# one\nDRAWBRIDGE_LOG=loud\n')).toEqual([
      expect.stringMatching(/^DRAWBRIDGE_LOG of FILE, line 2: expected /),
    ])
  })

  it('a line behind a value of several lines has its own number', () => {
    const [problem] = problemsOf('A="one\ntwo\nthree"\nDRAWBRIDGE_STOER=memory:')
    expect(problem).toBe(
      'DRAWBRIDGE_STOER of FILE, line 4: there is no such setting. Did you mean DRAWBRIDGE_STORE?',
    )
  })

  it('a rule over several settings is named with the place of its setting', () => {
    expect(problemsOf('\nDRAWBRIDGE_BASE_URL=https://mcp.example.com')).toEqual([
      expect.stringMatching(/^DRAWBRIDGE_BASE_URL of FILE, line 2: .*loopback/),
    ])
  })

  it('a variable that the environment has too is named without the file', () => {
    expect(problemsOf('DRAWBRIDGE_LOG=debug', { DRAWBRIDGE_LOG: 'loud' })).toEqual([
      expect.stringMatching(/^DRAWBRIDGE_LOG: expected /),
    ])
  })

  it('a file with lines that name no variable is refused with all of them at once, none repeated', () => {
    writeFileSync(path, 'A=1\nhunter2\n\n# fine\nB=2\n- hunter2: x\n')
    const error = thrownBy(() => loadEnvFile(path, {}))
    expect(error).toMatchObject({
      problems: [`${path}, line 2: expected NAME=value.`, `${path}, line 6: expected NAME=value.`],
    })
    expect(String(error)).not.toContain('hunter2')
  })

  it('a file that does not exist is named with its whole path', () => {
    expect(thrownBy(() => loadEnvFile(path, {}))).toMatchObject({
      problems: [`--env-file: file not found: ${path}.`],
    })
  })
})
