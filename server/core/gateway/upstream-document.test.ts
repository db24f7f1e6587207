import { describe, expect, it } from 'vitest'
import { type CommandUpstream, type HttpUpstream, scopeOfTool } from './upstream.ts'
import { readUpstreamDocument, upstreamAt, upstreamOf, type UpstreamReading } from './upstream-document.ts'

const environment = { UPSTREAM_KEY: 'key of the upstream', EMPTY: '' }
const read = (document: unknown): UpstreamReading => readUpstreamDocument(document, environment)

function upstream(document: unknown): Omit<HttpUpstream, 'kind'> & Omit<CommandUpstream, 'kind'> {
  const reading = read(document)
  if (reading.kind === 'faulty') throw new Error(reading.faults.join('\n'))
  return reading.value as unknown as ReturnType<typeof upstream>
}

const faults = (document: unknown): readonly string[] => {
  const reading = read(document)
  return reading.kind === 'faulty' ? reading.faults : []
}

describe('an upstream by HTTP', () => {
  const url = 'http://127.0.0.1:9000/mcp'

  it('an upstream by HTTP has defaults', () => {
    expect(upstreamAt(url)).toEqual({
      kind: 'read',
      value: {
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

  it('an upstream by HTTP is read with every member', () => {
    expect(
      upstream({
        url,
        identity: ['bearer', 'headers'],
        audience: 'https://upstream',
        headers: { 'X-Api-Key': '${env:UPSTREAM_KEY}', 'x-b': 'a ${env:EMPTY}b' },
        forward: ['Accept-Language'],
        tools: { allow: ['*'], deny: ['debug_*'], public: [], scopes: { 'delete_*': 'notes:write' } },
        scopes: { 'notes:write': 'Change and delete your notes' },
        timeout: '90',
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
    [7],
  ])('an upstream by HTTP cannot have the URL %j', (given) => {
    expect(faults({ url: given }).join()).toContain('url must be')
    // Passwords are not repeated.
    expect(faults({ url: given }).join()).not.toContain('password@')
  })

  it.each<[document: object, fault: string]>([
    [{ identity: ['bearer', 'provider-token'] }, 'cannot have both'],
    [{ identity: ['token'] }, 'assertion, bearer, headers, provider-token'],
    [{ identity: ['provider-token'], url: 'http://example.com/mcp' }, 'only sent over https'],
    [{ headers: { 'X Y': 'a' } }, 'not the name of a header'],
    [{ headers: { x: '${env:MISSING}' } }, 'the variable MISSING is not set'],
    [{ headers: { x: '${user:id}' } }, '${user:id} is unknown'],
    [{ headers: { x: 'ä' } }, 'printable ASCII'],
    ...[
      'Authorization',
      'X-Forwarded-For',
      'Drawbridge-Assertion',
      'Mcp-Session-Id',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Param-Region',
      'Proxy-Authorization',
    ].map((name): [object, string] => [{ forward: [name] }, 'is never forwarded']),
    [{ timeout: '25h' }, 'up to 24h'],
    [{ max_body: '65mb' }, 'at most 64mb'],
    [{ tools: { scopes: { 'x*': 'x' } } }, 'does not say what x allows'],
    [{ tools: { public: ['help_*'] } }, 'Name each public tool in full'],
    [{ tools: { public: ['debug'], deny: ['debug'] } }, 'is not allowed by tools.allow'],
    [{ tools: { public: ['help'], scopes: { 'h*': 'x' } }, scopes: { x: 'X' } }, 'requires a sign-in'],
    [{ tools: { alow: [] } }, 'Did you mean allow?'],
    [{ idle: '5m' }, 'unknown member "idle"'],
    [JSON.parse('{ "__proto__": 1 }'), 'unknown member "__proto__"'],
  ])('an upstream by HTTP cannot have %j', (members, fault) => {
    expect(faults({ url, ...members }).join('\n')).toContain(fault)
  })
})

it('an upstream command has defaults', () => {
  expect(upstreamOf('npx', ['-y', 'some-mcp-server'])).toMatchObject({
    value: {
      kind: 'command',
      command: 'npx',
      args: ['-y', 'some-mcp-server'],
      cwd: undefined,
      env: {},
      process: 'user',
      idleSeconds: 300,
      startTimeoutSeconds: 20,
      firstStartTimeoutSeconds: 120,
      maxProcesses: 64,
      maxPerUser: 8,
      user: undefined,
      secrets: [],
    },
  })
})

it('an upstream command can have values of the user in its environment', () => {
  const { env, user, secrets } = upstream({
    command: 'x',
    user: { uid: [20_000, 20_063], gid: 20_000 },
    env: { API_TOKEN: '${user:provider_token}', WHO: 'user ${user:id} of ${env:UPSTREAM_KEY}', PLAIN: 'a' },
  })
  expect(env).toEqual({
    API_TOKEN: [{ user: 'provider_token' }],
    WHO: ['user ', { user: 'id' }, ' of key of the upstream'],
    PLAIN: ['a'],
  })
  expect(user).toEqual({ firstUid: 20_000, lastUid: 20_063, gid: 20_000 })
  expect(secrets).toEqual(['key of the upstream'])
})

it('an upstream command can run as one user of the operating system', () => {
  const { user } = upstream({ command: 'x', user: { uid: 1001, gid: 1002 } })
  expect(user).toEqual({ firstUid: 1001, lastUid: 1001, gid: 1002 })
})

it('an upstream command can have environment variables in its arguments', () => {
  expect(upstream({ command: 'x', args: ['--key=${env:UPSTREAM_KEY}'] }).args).toEqual([
    '--key=key of the upstream',
  ])
})

it('an upstream command can have public tools if its process is shared', () => {
  const { policy } = upstream({ command: 'x', process: 'shared', tools: { public: ['help'] } })
  expect(policy.publicTools).toEqual(new Set(['help']))
})

it.each<[document: object, fault: string]>([
  [{ command: '' }, 'command must be a text'],
  [{ command: 'x', tools: { public: ['help'] } }, 'only with "process": "shared"'],
  [{ command: 'x', args: ['--token=${user:provider_token}'] }, 'can see arguments'],
  [{ command: 'x', env: { 'A B': 'x' } }, 'not the name of a variable'],
  [
    { command: 'x', env: { A: '${user:password}' } },
    'there is no ${user:password}, only id, email, name, provider_token, workspace',
  ],
  [{ command: 'x', user: 1001 }, 'user must be an object'],
  ...[
    { uid: 0, gid: 1 },
    { uid: 1, gid: 0 },
    { uid: 1 },
    { uid: [2, 1], gid: 1 },
    { uid: 2 ** 32 - 1, gid: 1 },
  ].map((user): [object, string] => [{ command: 'x', user }, 'other than root']),
  ...[undefined, { uid: 1001, gid: 1001 }, { uid: [1, 63], gid: 1 }].map((user): [object, string] => [
    { command: 'x', env: { A: '${user:provider_token}' }, ...(user && { user }) },
    'as many uids as max_processes (64)',
  ]),
  ...['id', 'email', 'name', 'workspace'].map((name): [object, string] => [
    { command: 'x', process: 'shared', env: { A: `a \${user:${name}}` } },
    'a shared process serves everybody',
  ]),
  [
    { url: 'http://x', tools: { scopes: { '@reads': 'a' } }, scopes: { a: 'A' } },
    'there is no such selector. Write @writes',
  ],
  [{ url: 'http://x', tools: { scopes: { '@writes': 'a' } } }, 'scopes does not say what a allows'],
  ...['allow', 'deny', 'public'].map((member): [object, string] => [
    { url: 'http://x', tools: { [member]: ['@writes'] } },
    `tools.${member}: @writes selects tools in tools.scopes only`,
  ]),
  ...['http://app.example.com/api/workspaces', 'http://10.0.0.1/'].map((url): [object, string] => [
    { url: 'https://x', workspaces: { url } },
    "workspaces.url: the user's token is only sent over https, or to this machine.",
  ]),
  [{ url: 'https://x', workspaces: {} }, 'workspaces.url'],
  [{ command: 'x', process: 'each' }, 'process must be user or shared'],
  [{ command: 'x', max_processes: 0 }, 'whole number of 1'],
  [{ command: 'x', url: 'http://x' }, 'either url or command'],
  [{}, 'either url or command'],
  [[], 'must be an object'],
])('an upstream document is refused: %j', (document, fault) => {
  expect(faults(document).join('\n')).toContain(fault)
})

it('a tool takes the scope of the first pattern that matches its name', () => {
  const scopes = [
    ['delete_all', 'notes:admin'],
    ['delete_*', 'notes:write'],
    ['*_all', 'notes:read'],
  ] as const
  const names = ['delete_all', 'delete_one', 'list_all', 'whoami']
  expect(
    names.map((name) => scopeOfTool({ scopes, publicTools: new Set() }, { name, isReadOnly: undefined })),
  ).toEqual(['notes:admin', 'notes:write', 'notes:read', undefined])
})
