import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkSettings } from '../config/config.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { readSettings } from '../config/setting-source.ts'
import { type Served, serveModule } from '../startup/open-tools.ts'
import { readyText } from './ready-text.ts'

const tool = (name: string) => ({ name, call: () => '' })

const supabase = { provider: 'supabase', providerUrl: 'https://ref.supabase.co', appName: 'Notes' } as const

/** Returns the settings of the embedded provider, except for `given`. */
function configOf(given: Partial<ServerConfig> = {}): ServerConfig {
  return { ...checkSettings(readSettings({}, {}), { production: false }).config, ...given }
}

/** Returns the texts of the ready text by the names beside them. */
function rowsOf(config: ServerConfig, served: Served = serveModule(config), open: string[] = []) {
  const lines = readyText(config, { ...served, publicTools: new Set(open) }).split('\n')
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name = '', text] = /^ {2}([A-Z][\w, ]*?) {2,}(\S.*)$/.exec(line) ?? []
      return text === undefined || line.indexOf(text) !== 17 ? [] : [[name, text]]
    }),
  ) as Record<string, string>
}

describe('the ready text', () => {
  it('the ready text names each thing of a trial once, and ends with the address to open', () => {
    const config = configOf()
    expect(rowsOf(config)).toEqual({
      Tools: 'whoami and 3 more, 1 scope',
      'Look around': 'curl -i http://localhost:8787/mcp',
      'Kept in': `sqlite:${join('.drawbridge', 'trial.db')}`,
      'Mail, codes': 'http://localhost:8788/mail',
    })
    const text = readyText(config, serveModule(config))
    expect(text).toContain('  1. Create an account      http://localhost:8788\n')
    expect(text).toContain('For trying things out only')
    expect(text).toMatch(/\n {2}Open http:\/\/localhost:8787\/\n\n$/)
  })

  it('the ready text of a production server names its provider and its doctor, and no trial', () => {
    const config = configOf(supabase)
    expect(rowsOf(config)).toMatchObject({
      Tools: 'whoami, 1 scope',
      'Signed in by': 'https://ref.supabase.co',
      'Check it all': 'drawbridge-server doctor',
    })
    const text = readyText(config, serveModule(config))
    expect(text).toContain('and sign in once with your account at Notes.')
    expect(text).not.toMatch(/trying|Mail|Create an account/)
  })

  it('the ready text names the file of a module, and counts its tools and scopes', () => {
    const config = configOf({ ...supabase, tools: './my-tools.mjs' })
    const scopes = { 'notes:write': 'Change notes' }
    const module = { tools: [tool('a'), tool('b')], scopes }
    expect(rowsOf(config, serveModule(config, module))['Tools']).toBe('./my-tools.mjs: 2 tools, 2 scopes')
    expect(rowsOf(config, serveModule(config, { register() {} }))['Tools']).toBe(
      './my-tools.mjs: 0 tools and what it registers, 1 scope',
    )
  })

  it('the ready text leaves the tools of an upstream to the upstream', () => {
    const config = configOf(supabase)
    const rows = rowsOf(config, { ...serveModule(config), upstream: 'https://mcp.example.com/' })
    expect(rows['Tools']).toBe('those of https://mcp.example.com/')
  })

  it('the ready text names tools that need no sign-in', () => {
    expect(rowsOf(configOf(), undefined, ['search', 'help'])['Open to all']).toBe(
      'search, help, without signing in',
    )
  })

  it('the ready text names options that are off by default', () => {
    const config = configOf({
      access: './access.json',
      audit: './audit.log',
      metricsListen: { host: '127.0.0.1', port: 9464 },
      adminListen: { host: '::1', port: 9465 },
    })
    expect(rowsOf(config)).toMatchObject({
      'Access rules': './access.json',
      'Audit file': './audit.log',
      Metrics: 'http://127.0.0.1:9464/metrics',
      'Admin API': 'http://[::1]:9465',
    })
  })

  it.each([
    ['http://localhost:8787', 8080, true],
    ['http://localhost:8787', 8787, false],
    ['https://localhost', 443, false],
    ['https://mcp.example.com', 8080, false],
  ])(
    'the ready text of %s on port %i notes another port of a loopback address: %s',
    (baseUrl, port, isNoted) => {
      const rows = rowsOf(configOf({ baseUrl, listen: { host: '127.0.0.1', port } }))
      expect('Note' in rows).toBe(isNoted)
    },
  )

  it('the ready text of a store in memory says that everything is forgotten', () => {
    expect(rowsOf(configOf({ store: { kind: 'memory' } }))['Kept in']).toMatch(
      /everything is forgotten at the end$/,
    )
  })
})
