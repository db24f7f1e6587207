import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import { assert as assertProperty, constantFrom, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ValueParser } from '@drawbridge/shared/settings/setting.ts'
import { parseSwitch, parseToken } from '@drawbridge/shared/settings/value.ts'
import * as fileValue from './config-value-file.ts'
import * as value from './config-value.ts'

const files: Readonly<Record<string, string>> = {
  'client.json': '{"client_id":"abc","client_secret":"${SECRET}"}',
  'ca.pem': '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n',
}
const source: value.ValueSource = {
  environment: { SECRET: 's3cret"},"x":{"', NAME: 'me' },
  readText(path) {
    const text = files[path]
    if (text === undefined) throw Object.assign(new Error('no'), { code: 'ENOENT' })
    return text
  },
}

type Row = [parse: ValueParser<unknown, value.ValueSource>, text: string, result: unknown]

const accepted: Row[] = [
  [value.parseDurationOrOff, '30', 30_000],
  [value.parseDurationOrOff, '500ms', 500],
  [value.parseDurationOrOff, '1.5s', 1500],
  [value.parseDurationOrOff, '5m', 300_000],
  [value.parseDurationOrOff, '1h', 3_600_000],
  [value.parseDurationOrOff, 'off', 0],
  [value.parseDurationOrOff, '0', 0],
  [value.parseDurationOrOff, '0s', 0],
  [value.parseDurationOrOff, '20s', 20_000],
  [value.parseName, 'work-2', 'work-2'],
  [value.parseScope, 'mcp offline_access', 'mcp offline_access'],
  [value.parseSealingKeyText, `${'A'.repeat(43)}\n`, 'A'.repeat(43)],
  [fileValue.parseCertificateFile, 'ca.pem', files['ca.pem']],
  [value.parseDocumentUrl, 'https://me.example/client.json', 'https://me.example/client.json'],
  [value.parseResource, 'https://mcp.example.com', 'https://mcp.example.com'],
  [value.parseResource, 'urn:example:x', 'urn:example:x'],
  [value.parseProxy, 'proxy.example:3128', 'http://proxy.example:3128/'],
  [value.parseProxy, 'http://u:p@proxy.example:3128', 'http://u:p@proxy.example:3128/'],
  [value.parseProxy, 'off', 'off'],
  [value.parseProxy, 'http://jo:100%sure@proxy:3128', 'http://jo:100%sure@proxy:3128/'],
  [
    value.parseProxy,
    String.raw`http://CORP\jo:two words@proxy:3128`,
    'http://CORP%5Cjo:two%20words@proxy:3128/',
  ],
  [value.parseProxy, String.raw`CORP\jo:p@ss@proxy:3128`, 'http://CORP%5Cjo:p%40ss@proxy:3128/'],
  [value.parseIssuer, 'https://as.example/', 'https://as.example/'],
  [value.parseAuthorizeParameter, 'audience=a=b', ['audience', 'a=b']],
  [value.parseAuthorizeParameter, 'x=', ['x', '']],
  [fileValue.parseStaticClient, '{"client_id":"abc"}', { clientId: 'abc' }],
  [
    fileValue.parseStaticClient,
    '@client.json',
    // A value of a variable cannot become a member of its own.
    { clientId: 'abc', clientSecret: 's3cret"},"x":{"' },
  ],
  [
    fileValue.parseStaticClient,
    '{"client_id":"a","client_secret":"b","token_endpoint_auth_method":"client_secret_post"}',
    { clientId: 'a', clientSecret: 'b', tokenEndpointAuthMethod: 'client_secret_post' },
  ],
  [
    fileValue.parseStaticClient,
    '{"client_id":"a","issuer":"https://as.example/x"}',
    { clientId: 'a', issuer: 'https://as.example/x' },
  ],
  [
    fileValue.parseClientMetadata,
    '{"client_name":"${NAME}","contacts":["${NAME}"]}',
    { client_name: 'me', contacts: ['me'] },
  ],
]

const refused: [parse: ValueParser<unknown, value.ValueSource>, text: string, expected: RegExp][] = [
  [value.parseDurationOrOff, '-5', /unit/],
  [value.parseDurationOrOff, '5 s', /unit/],
  [value.parseDurationOrOff, '25h', /unit/],
  [value.parseDurationOrOff, '1e3', /unit/],
  [value.parseName, '../../x', /letters/],
  [value.parseName, '', /letters/],
  [value.parseScope, 'a  b', /single spaces/],
  [value.parseScope, 'a"b', /scopes/],
  [value.parseSealingKeyText, 'A'.repeat(42), /32 bytes/],
  [value.parseSealingKeyText, `${'A'.repeat(42)}=`, /32 bytes/],
  [value.parseAbsolutePath, 'relative', /absolute/],
  [fileValue.parseCertificateFile, 'missing', /can be read \(ENOENT\)/],
  [fileValue.parseCertificateFile, 'client.json', /PEM/],
  [fileValue.parsePrivateKeyFile, 'ca.pem', /private key/],
  [value.parseDocumentUrl, 'https://me.example/', /path/],
  [value.parseDocumentUrl, 'http://127.0.0.1/client.json', /https/],
  [value.parseDocumentUrl, 'https://me.example/a/../client.json', /path/],
  [value.parseResource, 'mcp.example.com', /absolute URI/],
  [value.parseResource, 'https://mcp.example.com#x', /fragment/],
  [value.parseProxy, 'socks5://proxy:1080', /HTTP proxy/],
  [value.parseProxy, 'http://proxy:3128/path', /HTTP proxy/],
  [value.parseAuthorizeParameter, 'state=x', /another parameter than state/],
  [value.parseAuthorizeParameter, 'code_challenge_method=plain', /another parameter/],
  [value.parseAuthorizeParameter, 'novalue', /name=value/],
  [fileValue.parseStaticClient, 'nonsense', /JSON object/],
  [fileValue.parseStaticClient, '{"client_secret":"x"}', /client_id/],
  [fileValue.parseStaticClient, '{"client_id":"a","client_secret":5}', /client_secret/],
  [fileValue.parseStaticClient, '{"client_id":"a","issuer":"as.example"}', /issuer that is a URL/],
  [fileValue.parseStaticClient, '{"client_id":"${MISSING}"}', /variable MISSING/],
  [fileValue.parseStaticClient, '@missing', /can be read/],
  [fileValue.parseClientMetadata, '[]', /JSON object/],
  [fileValue.parseClientMetadata, '{"scope":7}', /scope to be a text/],
  [fileValue.parseClientMetadata, '{"client_name":null}', /client_name to be a text/],
  [fileValue.parseClientMetadata, '{"redirect_uris":"http://localhost"}', /redirect_uris to be a list/],
  [fileValue.parseClientMetadata, '{"contacts":[5]}', /contacts to be a list of texts/],
  [value.parseProxy, 'http://jo:p#ss@proxy:3128', /write # \/ \? as %23/],
  [value.parseIssuer, 'as.example', /URL of an issuer/],
  [value.parseIssuer, 'https://as.example?x', /URL of an issuer/],
]

describe('values of settings', () => {
  it.each(accepted)('the setting %o takes %s', (parse, text, result) => {
    expect(parse(text, source)).toEqual(result)
  })

  it.each(refused)('the setting %o refuses %s', (parse, text, expected) => {
    expect(() => parse(text, source)).toThrow(TypeError)
    expect(() => parse(text, source)).toThrow(expected)
  })

  it('parsePrivateKeyFile returns a key with its algorithm, and refuses weak and other kinds', () => {
    const pem = (
      { privateKey }: KeyPairKeyObjectResult,
      type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8',
    ): string => privateKey.export({ type, format: 'pem' }).toString()
    const pems = {
      ES256: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'sec1'),
      ES384: pem(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
      EdDSA: pem(generateKeyPairSync('ed25519')),
      RS256: pem(generateKeyPairSync('rsa', { modulusLength: 2048 }), 'pkcs1'),
    }
    for (const [algorithm, text] of Object.entries(pems)) {
      const key = fileValue.parsePrivateKeyFile('k', { ...source, readText: () => text })
      expect(key.algorithm).toBe(algorithm)
      expect(key.key.type).toBe('private')
    }
    const others = [generateKeyPairSync('x25519'), generateKeyPairSync('rsa', { modulusLength: 1024 })]
    for (const text of others.map((other) => pem(other)))
      expect(() => fileValue.parsePrivateKeyFile('k', { ...source, readText: () => text })).toThrow(/Ed25519/)
  })

  it('the message of a refused value never quotes it', () => {
    const parsers = [...[...accepted, ...refused].map(([parse]) => parse), parseSwitch, parseToken]
    assertProperty(
      property(constantFrom(...parsers), string({ minLength: 1 }), (parse, junk) => {
        const text = `sEcReT${junk}`
        try {
          parse(text, source)
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError)
          expect((error as Error).message).not.toContain('sEcReT')
        }
      }),
    )
  })
})

const headerSource: value.ValueSource = {
  environment: { TOKEN: 'abc', SPLIT: 'a\r\nX-Evil: 1', EMPTY: '' },
  readText(path) {
    if (path !== 'headers') throw Object.assign(new Error('no'), { code: 'EACCES' })
    return '# comment\n\n  X-One: 1 \r\nX-Two:${TOKEN}\n'
  },
}

it.each([
  ['X-Team: a', ['X-Team', 'a']],
  ['X-Team:a:b', ['X-Team', 'a:b']],
  ['Authorization: Bearer ${TOKEN}', ['Authorization', 'Bearer abc']],
  ['X-Empty: ${EMPTY}', ['X-Empty', '']],
  ['X: $TOKEN $5 ${not a name}', ['X', '$TOKEN $5 ${not a name}']],
])('the header %s is read', (text, entry) => {
  expect(fileValue.parseHeader(text, headerSource)).toEqual(entry)
})

it.each([
  ['no colon', /Name: value/],
  [': x', /Name: value/],
  ['X Y: 1', /Name: value/],
  ['X: ${MISSING}', /variable MISSING to be set/],
  ['X: ${SPLIT}', /without line ends/],
  ['X: a\nY: b', /without line ends/],
  ['Content-Type: text/plain', /another header than Content-Type/],
  ['mcp-session-id: 1', /which the protocol needs/],
  ['Host: x', /another header/],
])('the header %s is refused', (text, expected) => {
  expect(() => fileValue.parseHeader(text, headerSource)).toThrow(expected)
})

it('a header file has one header a line', () => {
  expect(fileValue.parseHeaderFile('headers', headerSource)).toEqual([
    ['X-One', '1'],
    ['X-Two', 'abc'],
  ])
  expect(() => fileValue.parseHeaderFile('other', headerSource)).toThrow('EACCES')
})

it.each([
  ['http://localhost:3118/callback', { host: 'localhost', port: 3118, path: '/callback' }],
  ['http://127.0.0.1/cb', { host: '127.0.0.1', port: undefined, path: '/cb' }],
  ['http://[::1]:80/a/b', { host: '::1', port: 80, path: '/a/b' }],
])('the callback %s is read', (text, callback) => {
  expect(value.parseCallback(text)).toEqual(callback)
})

it.each([
  'https://localhost:3118/callback',
  'http://example.com/callback',
  'http://0.0.0.0:1/callback',
  'http://localhost:3118',
  'http://localhost:0/callback',
  'http://localhost:70000/callback',
  'http://user@localhost:1/x',
  'http://localhost:1/x?y=1',
  'http://localhost.evil.example:1/x',
  'localhost:3118/callback',
])('the callback %s is refused', (text) => {
  expect(() => value.parseCallback(text)).toThrow(TypeError)
})

it('the parts of a callback are read alone as well', () => {
  expect(value.parseCallbackHost('[::1]')).toBe('::1')
  expect(() => value.parseCallbackHost('0.0.0.0')).toThrow(/localhost/)
  expect(value.parsePort('1')).toBe(1)
  for (const text of ['0', '65536', '1.5', '-1', '', 'x'])
    expect(() => value.parsePort(text)).toThrow(/1 to 65535/)
})
