import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSuiteServers, type RequiredRevision, runServerSuite, type SuiteServers } from './server-suite.ts'

let servers: SuiteServers
beforeAll(async () => void (servers = await openSuiteServers()))
afterAll(() => servers?.close())

describe.each<[RequiredRevision, number]>([
  ['2025-11-25', 30],
  ['2026-07-28', 37],
])('the MCP conformance suite for servers, %s', (revision, count) => {
  const passesAll = async (url: string): Promise<void> => {
    const { required, results, exitCode, output } = await runServerSuite(revision, url)
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
    () => passesAll(servers.directUrl),
  )

  it(`passes the same ${count} where the server is the upstream of another`, { timeout: 180_000 }, () =>
    passesAll(servers.behindUrl),
  )
})
