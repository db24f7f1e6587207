import { describe, expect, it } from 'vitest'
import { type RequiredRevision, runServerSuite } from './server-suite.ts'

describe.each<[RequiredRevision, number]>([
  ['2025-11-25', 30],
  ['2026-07-28', 37],
])('the MCP conformance suite for servers, %s', (revision, count) => {
  const passesAll = async (isBehind: boolean): Promise<void> => {
    const { required, results, exitCode, output } = await runServerSuite(revision, { isBehind })
    expect(required).toHaveLength(count)
    const scored = results.filter(({ scenario }) => required.includes(scenario))
    expect(
      scored.filter(({ passed }) => !passed),
      output,
    ).toEqual([])
    expect(exitCode, output).toBe(0)
  }

  it(
    `MCP transport Caching, MCP transport MRTR: passes all of the ${count} required scenarios through the gate`,
    { timeout: 180_000 },
    () => passesAll(false),
  )

  it(`passes the same ${count} where the server is the upstream of another`, { timeout: 180_000 }, () =>
    passesAll(true),
  )
})
