import { describe, expect, it } from 'vitest'
import { authorizationScenarios, runAuthorizationSuite } from './authorization-suite.ts'

/** Recommendations of the suite that the server does not implement. */
const knownWarnings = new Set(['authorization-server-metadata-cimd'])

describe('the MCP conformance suite for authorization servers', () => {
  it('passes every scenario, metadata and code grant', { timeout: 90_000 }, async () => {
    const { results, exitCode, output } = await runAuthorizationSuite()
    expect(results.map(({ scenario }) => scenario)).toEqual(authorizationScenarios)
    expect(
      results.filter(({ passed }) => !passed),
      output,
    ).toEqual([])
    const warnings = results
      .flatMap(({ checks }) => checks)
      .filter(({ status, id }) => status === 'WARNING' && !knownWarnings.has(id))
    expect(warnings).toEqual([])
    expect(exitCode, output).toBe(0)
  })
})
