import { describe, expect, it } from 'vitest'
import { checkConfiguration, checkNode, checkProxies } from './own-check.ts'

describe('Node', () => {
  it.each([
    ['22.13.0', 'ok'],
    ['22.12.9', 'fail'],
    ['20.20.0', 'fail'],
    ['24.0.0', 'ok'],
    ['26.10.0', 'ok'],
  ])('%s: %s', (version, state) => {
    expect(checkNode(version).state).toBe(state)
  })
})

describe('the configuration', () => {
  it('every fault is a finding of its own', () => {
    const findings = checkConfiguration(['LISTEN: bad.', 'STORE: bad.'], { flag: [], variable: [] })
    expect(findings.map(({ state, message }) => `${state} ${message}`)).toEqual([
      'fail LISTEN: bad.',
      'fail STORE: bad.',
    ])
  })

  it.each([
    [{ flag: [], variable: [] }, 'Every setting has its default.'],
    [
      { flag: ['--store'], variable: ['DRAWBRIDGE_A', 'DRAWBRIDGE_B'] },
      '--store (flag), DRAWBRIDGE_A, DRAWBRIDGE_B (variable); all others have their defaults.',
    ],
  ])('%j: %s', (given, message) => {
    expect(checkConfiguration([], given)).toEqual([{ name: 'configuration', state: 'ok', message }])
  })
})

describe('addresses of clients', () => {
  it.each<[baseUrl: string, trustedProxies: string[], state: string]>([
    ['http://localhost:8787', [], 'ok'],
    ['https://mcp.example.com', [], 'warn'],
    ['https://mcp.example.com', ['10.0.0.0/8'], 'ok'],
  ])('%s behind %j: %s', (baseUrl, trustedProxies, state) => {
    expect(checkProxies({ baseUrl, trustedProxies }).state).toBe(state)
  })
})
