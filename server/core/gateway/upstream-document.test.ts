import { describe, expect, it } from 'vitest'
import type { CommandUpstream, HttpUpstream } from './upstream.ts'
import { readUpstreamDocument, upstreamAt, upstreamOf, type UpstreamReading } from './upstream-document.ts'

const environment = { UPSTREAM_KEY: 'key of the upstream', EMPTY: '' }
const read = (document: unknown): UpstreamReading => readUpstreamDocument(document, environment)

function upstream(document: unknown): Omit<HttpUpstream, 'kind'> & Omit<CommandUpstream, 'kind'> {
  const reading = read(document)
  if (reading.kind === 'faulty') throw new Error(reading.faults.join('\n'))
  return reading.upstream as unknown as ReturnType<typeof upstream>
}

const faults = (document: unknown): readonly string[] => {
  const reading = read(document)
  return reading.kind === 'faulty' ? reading.faults : []
}

describe('an upstream by HTTP', () => {
  const url = 'http://127.0.0.1:9000/mcp'

  it('has defaults', () => {
    expect(upstreamAt(url)).toEqual({
      kind: 'upstream',
      upstream: {
        kind: 'http',
        policy: { allow: ['*'], deny: [], publicTools: new Set(), scopes: [] },
        scopes: {},
        url,
        identity: ['assertion'],
        audience: url,
        headers: {},
        forward: [],
        timeoutSeconds: 300,
        connectTimeoutSeconds: 5,
        maxBodyBytes: 4 * 1024 * 1024,
      },
    })
  })

  it('has everything that it is given', () => {
    expect(
      upstream({
        url,
        identity: ['bearer', 'headers'],
        audience: 'https://upstream',
        headers: { 'X-Api-Key': '${env:UPSTREAM_KEY}', 'x-b': 'a ${env:EMPTY}b' },
        forward: ['Accept-Language'],
        tools: { allow: ['*'], deny: ['debug_*'], public: [], scopes: { 'delete_*': 'notes:write' } },
        scopes: { 'notes:write': 'Change and delete your notes' },
        timeout: '90s',
        connect_timeout: '1m',
        max_body: '512kb',
      }),
    ).toMatchObject({
      identity: ['bearer', 'headers'],
      audience: 'https://upstream',
      headers: { 'x-api-key': 'key of the upstream', 'x-b': 'a b' },
      forward: ['accept-language'],
      policy: {
        allow: ['*'],
        deny: ['debug_*'],
        publicTools: new Set<string>(),
        scopes: [['delete_*', 'notes:write']],
      },
      scopes: { 'notes:write': 'Change and delete your notes' },
      timeoutSeconds: 90,
      connectTimeoutSeconds: 60,
      maxBodyBytes: 512 * 1024,
    })
  })

  it.each([
    ['ftp://example.com'],
    ['http://user:password@example.com/mcp'],
    ['http://example.com/mcp#x'],
    ['example.com'],
    [7],
  ])('is not at %j', (given) => {
    expect(faults({ url: given }).join()).toContain('url must be')
    // A password is not repeated.
    expect(faults({ url: given }).join()).not.toContain('password@')
  })

  it.each<[document: object, fault: string]>([
    [{ identity: ['bearer', 'provider-token'] }, 'cannot have both'],
    [{ identity: ['token'] }, 'assertion, bearer, headers, provider-token'],
    [{ identity: ['provider-token'], url: 'http://example.com/mcp' }, 'only goes to https'],
    [{ headers: { 'X Y': 'a' } }, 'not the name of a header'],
    [{ headers: { x: '${env:MISSING}' } }, 'the variable MISSING is not set'],
    [{ headers: { x: '${user:id}' } }, '${user:id} is not known'],
    [{ headers: { x: 'ä' } }, 'printable ASCII'],
    ...[
      'Authorization',
      'cookie',
      'X-Forwarded-For',
      'Drawbridge-Assertion',
      'Mcp-Session-Id',
      'Proxy-Authorization',
    ].map((name): [object, string] => [{ forward: [name] }, 'never goes on']),
    [{ timeout: '300' }, 'such as 30s'],
    [{ timeout: '25h' }, 'at most a day'],
    [{ max_body: '65mb' }, 'at most 64mb'],
    [{ tools: { scopes: { 'x*': 'x' } } }, 'does not say what x allows'],
    [{ tools: { public: ['help_*'] } }, 'Name each public tool in full'],
    [{ tools: { public: ['debug'], deny: ['debug'] } }, 'is not allowed by tools.allow'],
    [{ tools: { public: ['help'], scopes: { 'h*': 'x' } }, scopes: { x: 'X' } }, 'takes a sign-in'],
    [{ tools: { public: 'help' } }, 'tools.public'],
    [{ tools: { alow: [] } }, 'Did you mean allow?'],
    [{ idle: '5m' }, 'unknown member "idle"'],
  ])('with %j is faulty', (members, fault) => {
    expect(faults({ url, ...members }).join('\n')).toContain(fault)
  })

  it('has all its faults told at once', () => {
    expect(faults({ url: 7, timeout: 1, max_body: 1, tools: 1 })).toHaveLength(5)
  })
})

describe('an upstream that is a command', () => {
  it('has defaults', () => {
    expect(upstreamOf('npx', ['-y', 'some-mcp-server'])).toMatchObject({
      upstream: {
        kind: 'command',
        command: 'npx',
        args: ['-y', 'some-mcp-server'],
        cwd: undefined,
        env: {},
        process: 'user',
        idleSeconds: 300,
        startTimeoutSeconds: 20,
        maxProcesses: 64,
        maxPerUser: 2,
        onTokenRefresh: 'restart',
      },
    })
  })

  it('has what a person has in its environment', () => {
    const { env } = upstream({
      command: 'x',
      env: { API_TOKEN: '${user:provider_token}', WHO: 'user ${user:id} of ${env:UPSTREAM_KEY}', PLAIN: 'a' },
    })
    expect(env).toEqual({
      API_TOKEN: [{ user: 'provider_token' }],
      WHO: ['user ', { user: 'id' }, ' of key of the upstream'],
      PLAIN: ['a'],
    })
  })

  it('can have public tools when everybody shares its process', () => {
    const { policy } = upstream({ command: 'x', process: 'shared', tools: { public: ['help'] } })
    expect(policy.publicTools).toEqual(new Set(['help']))
  })

  it('has variables of the environment in its arguments', () => {
    expect(upstream({ command: 'x', args: ['--key=${env:UPSTREAM_KEY}'] }).args).toEqual([
      '--key=key of the upstream',
    ])
  })

  it.each<[document: object, fault: string]>([
    [{ command: '' }, 'command must be a text'],
    [{ command: 'x', tools: { public: ['help'] } }, 'Only with "process": "shared"'],
    [{ command: 'x', args: ['--token=${user:provider_token}'] }, 'can see arguments'],
    [{ command: 'x', env: { 'A B': 'x' } }, 'not the name of a variable'],
    [{ command: 'x', env: { A: '${user:password}' } }, 'there is no ${user:password}'],
    [{ command: 'x', process: 'each' }, 'process must be user or shared'],
    [{ command: 'x', max_processes: 0 }, 'whole number of 1'],
    [{ command: 'x', url: 'http://x' }, 'either url or command'],
    [{}, 'either url or command'],
    [[], 'must be an object'],
  ])('%j is faulty', (document, fault) => {
    expect(faults(document).join('\n')).toContain(fault)
  })
})
