import { expect, it } from 'vitest'
import { readAccessDocument } from './access-document.ts'

function faultsOf(document: unknown): readonly string[] {
  const reading = readAccessDocument(document, 'mcp')
  return reading.kind === 'faulty' ? reading.faults : []
}

it('an access document is read with every member', () => {
  const document = {
    rules: [
      { deny: { email: ['Mallory@Example.com'] } },
      {
        allow: {
          email: ['*@example.com'],
          sub: ['1'],
          provider: ['google'],
          client: ['Claude.ai', 'mcpc_1'],
        },
      },
      {
        allow: { claim: { 'app_metadata.role': ['partner', 7, true] } },
        scopes: ['mcp'],
        tools: { allow: ['list_*'], deny: ['*_admin'] },
      },
      { allow: {} },
    ],
  }
  expect(readAccessDocument(document, 'mcp')).toEqual({
    kind: 'read',
    value: [
      { effect: 'deny', conditions: { email: ['mallory@example.com'] } },
      {
        effect: 'allow',
        conditions: {
          email: ['*@example.com'],
          sub: ['1'],
          provider: ['google'],
          client: ['Claude.ai', 'mcpc_1'],
        },
      },
      {
        effect: 'allow',
        conditions: { claim: { 'app_metadata.role': ['partner', 7, true] } },
        scopes: ['mcp'],
        tools: { allow: ['list_*'], deny: ['*_admin'] },
      },
      { effect: 'allow', conditions: {} },
    ],
  })
})

it('an access document reports all its faults at once', () => {
  const document = {
    rules: [
      { allow: {}, deny: {} },
      { deny: {}, scopes: ['mcp'] },
      { allow: { emial: ['x'] }, tools: {} },
      { allow: { email: ['example.com'] } },
    ],
  }
  expect(faultsOf(document)).toEqual([
    'rules[0] must have either allow or deny.',
    'rules[1].scopes has no meaning in a deny rule; remove it.',
    'rules[2].allow has an unknown member "emial". Did you mean email?',
    'rules[2].tools must have allow, deny or both.',
    'rules[3].allow.email[0] must be an address or a pattern such as *@example.com.',
  ])
})

it.each<[document: unknown, fault: string]>([
  [[], 'the document must be an object.'],
  [{}, 'rules must be an array.'],
  [{ rules: [], rule: [] }, 'the document has an unknown member "rule". Did you mean rules?'],
  [{ rules: [{ allow: { client: 'x' } }] }, 'rules[0].allow.client must be an array of 1 to 1000 texts.'],
  [{ rules: [{ deny: { client: [] } }] }, 'rules[0].deny.client must be an array of 1 to 1000 texts.'],
  [
    { rules: [{ deny: { clients: ['x'] } }] },
    'rules[0].deny has an unknown member "clients". Did you mean client?',
  ],
  [{ rules: [{ allow: { sub: 'x' } }] }, 'rules[0].allow.sub must be an array of 1 to 1000 texts.'],
  [{ rules: [{ allow: { sub: [1] } }] }, 'rules[0].allow.sub[0] must be a text of 1 to 500 characters.'],
  [{ rules: [{ allow: { claim: {} } }] }, 'rules[0].allow.claim must name a claim.'],
  [
    { rules: [{ allow: { claim: { groups: [null] } } }] },
    'rules[0].allow.claim.groups[0] must be a text, a number, true or false.',
  ],
  [
    { rules: [{ allow: { claim: { 'user_metadata.role': ['x'] } } }] },
    'rules[0].allow.claim["user_metadata.role"]: everyone can write their own user_metadata. Use app_metadata, or the name of another claim.',
  ],
  ...['user_metadata', 'raw_user_meta_data', 'raw_user_meta_data.role'].map((name): [object, string] => [
    { rules: [{ allow: { claim: { [name]: ['x'] } } }] },
    `rules[0].allow.claim${name.includes('.') ? `["${name}"]` : `.${name}`}: everyone can write their own user_metadata. Use app_metadata, or the name of another claim.`,
  ]),
  ...['*', 'claude.*', 'claude.ai:443', 'b\u00fccher.example', 'a b'].map((client): [object, string] => [
    { rules: [{ deny: { client: ['claude.ai', client] } }] },
    'rules[0].deny.client[1] must be a client id, or a host such as claude.ai: without *, without :443, and in its xn-- form if it has other letters.',
  ]),
  [
    { rules: [{ allow: {}, tools: { deny: ['@writes'] } }] },
    'rules[0].tools.deny[0] belongs to the scopes of tools; name tools here, such as delete_*.',
  ],
  ...['a@b@example.com', '@example.com', 'ada@'].map((address): [object, string] => [
    { rules: [{ allow: { email: [address] } }] },
    'rules[0].allow.email[0] must be an address or a pattern such as *@example.com.',
  ]),
  [
    JSON.parse('{ "rules": [{ "allow": { "claim": { "__proto__": ["x"], "a": [1] } } }] }'),
    'the document has an unknown member "__proto__".',
  ],
  [{ rules: Array.from({ length: 1001 }, () => ({ allow: {} })) }, 'rules has more than 1000 members.'],
])('the access document %j has the fault: %s', (document, fault) => {
  expect(faultsOf(document)).toEqual([fault])
})

it.each(['x'.repeat(500), 'user_metadata_of_the_app', 'app_metadata.user_metadata', 'a\nb'])(
  'an access document may ask for the claim %j',
  (name) => {
    expect(faultsOf({ rules: [{ allow: { claim: { [name]: ['x'] } } }] })).toEqual([])
    expect(
      faultsOf({ rules: [{ allow: { claim: { [`${name}${'x'.repeat(501)}`]: ['x'] } } }] }),
    ).toHaveLength(1)
  },
)

it.each(['mcpc_Zm9vYmFyYmF6cXV4', 'claude.ai', 'localhost:8443', 'https://claude.ai/oauth/client.json?v=1'])(
  'an access document may name the client %j',
  (client) => {
    expect(faultsOf({ rules: [{ deny: { client: [client] } }] })).toEqual([])
  },
)
