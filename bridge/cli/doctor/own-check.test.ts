import type { FindingState } from '@drawbridge/shared/terminal/finding.ts'
import { describe, expect, it } from 'vitest'
import { checkClock, checkCommandLine, checkConfiguration, checkFileMode, checkNode } from './own-check.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { type Finding, exitCodeOf, factsOf, fail, ok, warn } from './finding.ts'

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
  const { failed, signInNeeded, unreachable } = exitCode
  const after = (...exits: ExitCode[]): Finding[] => [
    ok('node', ''),
    warn('clock', ''),
    ...exits.map((exit) => fail('session', '', 'x', exit)),
  ]

  it.each<[ExitCode[], number]>([
    [[], 0],
    [[signInNeeded], 3],
    [[signInNeeded, signInNeeded], 3],
    [[failed, signInNeeded], 1],
    [[unreachable, signInNeeded], 4],
    [[failed, unreachable], 4],
    [[failed], 1],
  ])('after failures that mean %j is %d', (exits, code) => {
    expect(exitCodeOf(after(...exits))).toBe(code)
  })

  it('of a failure that says nothing else is 1, and is not printed', () => {
    const finding = fail('clock', 'late.', 'Set it.')
    expect(exitCodeOf([finding])).toBe(1)
    expect(factsOf(finding)).toEqual({ name: 'clock', state: 'fail', message: 'late.', fix: 'Set it.' })
    expect(factsOf(ok('node', 'x'))).toEqual({ name: 'node', state: 'ok', message: 'x' })
  })
})
