import { describe, expect, it } from 'vitest'
import { type RequiredRevision, runServerSuite } from './server-suite.ts'

describe.each<[RequiredRevision, number]>([
  ['2025-11-25', 30],
  ['2026-07-28', 37],
])('the MCP conformance suite for servers, %s', (revision, count) => {
  it(
    `MCP transport Caching, MCP transport MRTR: passes all of the ${count} required scenarios through the gate`,
    { timeout: 180_000 },
    async () => {
      const { required, results, exitCode, output } = await runServerSuite(revision)
      expect(required).toHaveLength(count)
      const scored = results.filter(({ scenario }) => required.includes(scenario))
      expect(
        scored.filter(({ passed }) => !passed),
        output,
      ).toEqual([])
      expect(exitCode, output).toBe(0)
    },
  )
})
