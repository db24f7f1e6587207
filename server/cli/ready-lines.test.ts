import { describe, expect, it } from 'vitest'
import { serveModule } from '../startup/open-tools.ts'
import { optionLines, publicToolsLine, toolsText } from './ready-lines.ts'

const tool = (name: string) => ({ name, call: () => '' })

describe('the tools of the ready text', () => {
  it.each([
    ['embedded', 'whoami and 3 more, 1 scope'],
    ['supabase', 'whoami, 1 scope'],
  ] as const)('the ready text names the tools of %s without a module', (provider, text) => {
    expect(toolsText({ tools: undefined }, serveModule({ provider }))).toBe(text)
  })

  it('the ready text names the file of a module, and counts its tools and scopes', () => {
    const config = { provider: 'supabase', tools: './my-tools.mjs' } as const
    const scopes = { 'notes:write': 'Change notes' }
    expect(toolsText(config, serveModule(config, { tools: [tool('a'), tool('b')], scopes }))).toBe(
      './my-tools.mjs: 2 tools, 2 scopes',
    )
    expect(toolsText(config, serveModule(config, { register() {} }))).toBe(
      './my-tools.mjs: 0 tools and what it registers, 1 scope',
    )
  })

  it('the ready text leaves the tools of an upstream to the upstream', () => {
    expect(toolsText({ tools: undefined }, { upstream: 'https://mcp.example.com/' })).toBe(
      'those of https://mcp.example.com/',
    )
  })
})

it('the ready text names tools that need no sign-in', () => {
  expect(publicToolsLine(new Set())).toBe('')
  expect(publicToolsLine(new Set(['search', 'help']))).toBe(
    '  Open to all    search, help, without signing in\n',
  )
})

it('the ready text names options that are on and off by default', () => {
  const off = { access: undefined, audit: undefined, metricsListen: undefined, adminListen: undefined }
  expect(optionLines(off)).toBe('')
  const metricsListen = { host: '127.0.0.1', port: 9464 }
  const adminListen = { host: '::1', port: 9465 }
  expect(optionLines({ access: './access.json', audit: './audit.log', metricsListen, adminListen })).toBe(
    '  Access rules   ./access.json\n  Audit file     ./audit.log\n' +
      '  Metrics        http://127.0.0.1:9464/metrics\n  Admin API      http://[::1]:9465\n',
  )
})
