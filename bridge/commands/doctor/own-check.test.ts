import { describe, expect, it } from 'vitest'
import { checkClock, checkCommandLine, checkConfiguration, checkFileMode, checkNode } from './own-check.ts'
import { type CheckName, checkNames, type Finding, type FindingState } from './finding.ts'
import { exitCodeOf, summary } from './report.ts'

const none = { flag: [], variable: [], file: [] }

describe('checks of this side', () => {
  it.each([
    ['20.19.0', 'warn'],
    ['22.13.0', 'ok'],
    ['26.10.0', 'ok'],
  ])('Node %s is %s', (version, state) => {
    expect(checkNode(version).state).toBe(state)
  })

  it('a configuration says where it is from', () => {
    expect(checkConfiguration([], [], none)).toMatchObject([{ state: 'ok', message: 'All defaults.' }])
    expect(
      checkConfiguration([], ['odd.'], { ...none, flag: ['ca', 'proxy'], file: ['scope'] }),
    ).toMatchObject([
      { message: 'By flag: ca, proxy; in config.json: scope.' },
      { state: 'warn', message: 'odd.' },
    ])
    expect(checkConfiguration(['a.', 'b.'], [], none)).toHaveLength(2)
  })

  it.each([
    ['Authorization: Basic abc', 1],
    ['X-Api-Key: abc', 1],
    ['Cookie: a=b', 1],
    ['Authorization: Bearer ${TOKEN}', 0],
    ['X-Team: blue', 0],
  ])('%s on a command line: %d warnings', (header, count) => {
    expect(checkCommandLine({ headers: [header] })).toHaveLength(count)
  })

  it.each<[serverDate: number | undefined, states: FindingState[]]>([
    [undefined, []],
    [1000, ['ok']],
    [1029, ['ok']],
    [970, ['warn']],
    [1300, ['fail']],
  ])('a server at %s when it is 1000 here: %j', (serverDate, states) => {
    expect(checkClock(serverDate, 1000).map(({ state }) => state)).toEqual(states)
  })

  it.each([
    [undefined, 'linux', 0],
    [0o100600, 'linux', 0],
    [0o100640, 'linux', 1],
    [0o100666, 'win32', 0],
  ] as const)('a file of mode %s on %s: %d warnings', (mode, platform, count) => {
    expect(checkFileMode('/x', mode, platform)).toHaveLength(count)
  })
})

describe('the exit code', () => {
  const failed = (...names: CheckName[]): Finding[] => [
    { name: 'node', state: 'ok', message: '' },
    { name: 'pkce', state: 'warn', message: '' },
    ...names.map((name) => ({ name, state: 'fail' as const, message: '', fix: 'x' })),
  ]

  it.each<[CheckName[], number]>([
    [[], 0],
    [['login'], 3],
    [['login', 'session'], 3],
    [['pkce', 'login'], 1],
    [['dns', 'login'], 4],
    [['endpoint'], 4],
    [['clock'], 1],
  ])('after failures of %j is %d', (names, code) => {
    expect(exitCodeOf(failed(...names))).toBe(code)
  })

  it('goes with a summary', () => {
    expect(summary(failed('dns'))).toBe(
      '1 ok, 1 warning, 1 failed. Repair what failed, from the top, and run doctor again.',
    )
    expect(summary([])).toBe('0 ok, 0 warnings, 0 failed.')
  })

  it('is for checks that are all documented', () => {
    for (const text of Object.values(checkNames)) expect(text).toMatch(/^[A-Z].*\.$/)
  })
})
