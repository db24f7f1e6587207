import { describe, expect, it } from 'vitest'
import {
  oneOf,
  parseAddressRanges,
  parseBaseUrl,
  parseCaptcha,
  parseCount,
  parseDuration,
  parseDurationOrOff,
  parseHeaderValue,
  parseHosts,
  parseHostsWithPort,
  parseList,
  parseListenAddress,
  parseListenAddressOrOff,
  parseOrigins,
  parseParameters,
  parseSecretKeys,
  parseSecretKeySource,
  parseStore,
  parseSwitch,
  parseText,
  storeName,
  type ValueParser,
} from './config-value.ts'

/** One parser, what it accepts and what it refuses. */
function describeParser<Value>(
  name: string,
  parse: ValueParser<Value>,
  accepted: readonly (readonly [text: string, value: Value])[],
  refused: readonly string[],
): void {
  describe(name, () => {
    it.each(accepted.map(([text, value]) => ({ text, value })))('$text', ({ text, value }) => {
      expect(parse(text)).toEqual(value)
    })
    it.each(refused.map((text) => ({ text })))('refuses $text with what is expected', ({ text }) => {
      expect(() => parse(text)).toThrow(TypeError)
      expect(() => parse(text)).toThrow(/^expected /)
    })
  })
}

describeParser(
  'MCP auth Communication-Security, OAuth 2.1 1.5: parseBaseUrl',
  parseBaseUrl,
  [
    ['https://mcp.example.com', 'https://mcp.example.com'],
    ['https://mcp.example.com/', 'https://mcp.example.com'],
    ['https://MCP.Example.com:443', 'https://mcp.example.com'],
    ['https://example.com/tools/', 'https://example.com/tools'],
    ['https://example.com/tools//', 'https://example.com/tools'],
    ['http://localhost:8787', 'http://localhost:8787'],
    ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
    ['http://127.8.8.8', 'http://127.8.8.8'],
    ['http://[::1]:8787/', 'http://[::1]:8787'],
    ['https://mcp.example.com?', 'https://mcp.example.com'],
    ['https://mcp.example.com/#', 'https://mcp.example.com'],
  ],
  [
    '',
    'mcp.example.com',
    '/mcp',
    'http://mcp.example.com',
    'http://0.0.0.0:8787',
    'http://192.168.0.1',
    'http://localhost.example.com',
    'ftp://localhost',
    'javascript:alert(1)',
    'https://mcp.example.com?a=1',
    'https://mcp.example.com#a',
    'https://user@mcp.example.com',
    'https://user:password@mcp.example.com',
  ],
)

describeParser(
  'parseListenAddress',
  parseListenAddress,
  [
    ['8787', { host: '127.0.0.1', port: 8787 }],
    ['127.0.0.1:8787', { host: '127.0.0.1', port: 8787 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['0.0.0.0:65535', { host: '0.0.0.0', port: 65_535 }],
    ['[::1]:8787', { host: '::1', port: 8787 }],
  ],
  [
    '',
    ':8787',
    'localhost',
    'localhost:',
    '127.0.0.1:65536',
    '::1:8787',
    '[::1]',
    'a b:1',
    '127.0.0.1:-1',
    '1e3',
    'http://localhost:1',
  ],
)

describeParser(
  'parseDuration',
  parseDuration,
  [
    ['1', 1],
    ['90', 90],
    ['90s', 90],
    ['15m', 900],
    ['1h', 3600],
    ['30d', 2_592_000],
    ['3650d', 315_360_000],
  ],
  ['', '0', '0d', '-1', '1.5h', '1w', '30 d', ' 1', '1H', '3651d', '99999999999', 'NaN', 'Infinity', '1e3'],
)

describeParser(
  'parseSwitch',
  parseSwitch,
  [
    ['on', true],
    ['off', false],
  ],
  ['', 'ON', 'true', '1', 'yes'],
)

describeParser(
  'parseList',
  parseList,
  [
    ['', []],
    [' , ,', []],
    ['google', ['google']],
    [' google , github,', ['google', 'github']],
  ],
  [],
)

describeParser(
  'parseOrigins',
  parseOrigins,
  [
    ['https://app.example.com', ['https://app.example.com']],
    ['https://App.Example.com/, http://localhost:3000', ['https://app.example.com', 'http://localhost:3000']],
    ['', []],
  ],
  [
    '*',
    'null',
    'app.example.com',
    'https://app.example.com/path',
    'https://app.example.com?a',
    'https://user@app.example.com',
    'https://*.example.com',
    'file:///tmp',
    'https://good.example.com, bad',
  ],
)

describeParser(
  'oneOf',
  oneOf('info', 'debug'),
  [
    ['info', 'info'],
    ['debug', 'debug'],
  ],
  ['', 'INFO', 'toString', 'info,debug'],
)

describeParser(
  'parseStore',
  parseStore,
  [
    ['memory:', { kind: 'memory' }],
    ['sqlite:server.db', { kind: 'sqlite', path: 'server.db' }],
    ['sqlite:/var/lib/a b/x:y.db', { kind: 'sqlite', path: '/var/lib/a b/x:y.db' }],
    ['postgres://localhost/x', { kind: 'postgres', url: 'postgres://localhost/x' }],
    ['postgresql://u:p@db:5432/x', { kind: 'postgres', url: 'postgresql://u:p@db:5432/x' }],
  ],
  ['', 'memory', 'memory:x', 'sqlite:', 'sqlite', 'server.db', 'postgres://', 'mysql://localhost/x'],
)

describeParser(
  'parseCount',
  parseCount,
  [
    ['1', 1],
    ['600', 600],
  ],
  ['', '0', '-1', '1.5', 'x', '1000000000'],
)

describeParser(
  'parseDurationOrOff',
  parseDurationOrOff,
  [
    ['off', undefined],
    ['5m', 300],
  ],
  ['', 'on', '0'],
)

describeParser(
  'parseCaptcha',
  parseCaptcha,
  [
    ['hcaptcha:10000000-ffff', { kind: 'hcaptcha', siteKey: '10000000-ffff' }],
    ['turnstile:0x4AAA_a', { kind: 'turnstile', siteKey: '0x4AAA_a' }],
  ],
  ['', 'hcaptcha', 'turnstile:', 'recaptcha:x', 'turnstile:"><script>', 'hcaptcha:a b'],
)

describeParser(
  'parseParameters',
  parseParameters,
  [
    ['access_type=offline&prompt=consent', { access_type: 'offline', prompt: 'consent' }],
    ['audience=https%3A%2F%2Fapi', { audience: 'https://api' }],
  ],
  ['', 'x', '=y', 'x=', 'state=1', 'a=b&redirect_uri=https://evil.example'],
)

describeParser(
  'parseHeaderValue',
  parseHeaderValue,
  [['sb_publishable_x-Y', 'sb_publishable_x-Y']],
  ['', 'a b', 'key\n', 'key\r\nx: y', 'é'],
)

describeParser('parseText', parseText, [['a b', 'a b']], ['', '  '])

it.each([
  ['memory:', 'memory:'],
  ['sqlite:a.db', 'sqlite:a.db'],
  ['postgres://user:hunter2@db.example:5432/main?sslmode=require', 'postgres://db.example:5432/main'],
])('storeName of %s holds no password', (text, name) => {
  expect(storeName(parseStore(text))).toBe(name)
})

const key = new Uint8Array(32).map((_, index) => index * 7)
const text = Buffer.from(key).toString('base64')

describeParser(
  'parseSecretKeys',
  parseSecretKeys,
  [
    [`a:${text}`, [{ kid: 'a', key }]],
    [`a:${Buffer.from(key).toString('base64url')}`, [{ kid: 'a', key }]],
    [
      ` new-1:${text} , old_1:${text}`,
      [
        { kid: 'new-1', key },
        { kid: 'old_1', key },
      ],
    ],
  ],
  [
    '',
    ',',
    text,
    `:${text}`,
    'a:',
    'a:c2hvcnQ=',
    `a:${Buffer.alloc(31).toString('base64')}`,
    `a:${Buffer.alloc(33).toString('base64')}`,
    `a:${text}, a:${text}`,
    `a.b:${text}`,
    `${'k'.repeat(65)}:${text}`,
    `a:${text.slice(0, -2)}!=`,
    `a:${text}, b:short`,
  ],
)

describeParser(
  'parseSecretKeySource',
  parseSecretKeySource,
  [
    ['file:keys/ring', { kind: 'file', path: 'keys/ring' }],
    [`a:${text}`, { kind: 'ring', keys: [{ kid: 'a', key }] }],
  ],
  ['', 'file:', 'a:short'],
)

describeParser(
  'parseListenAddressOrOff',
  parseListenAddressOrOff,
  [
    ['off', undefined],
    ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
    ['9464', { host: '127.0.0.1', port: 9464 }],
  ],
  ['', 'on', 'OFF', '127.0.0.1'],
)

describeParser(
  'parseAddressRanges',
  parseAddressRanges,
  [
    ['', []],
    ['127.0.0.1, ::1', ['127.0.0.1', '::1']],
    ['10.0.0.0/8,2001:db8::/32', ['10.0.0.0/8', '2001:db8::/32']],
  ],
  ['localhost', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0', '*', '127.0.0.1,proxy'],
)

describeParser(
  'parseHosts',
  parseHosts,
  [
    ['', []],
    ['claude.ai, *.Example.com', ['claude.ai', '*.example.com']],
    ['!evil.example,!*.evil.example', ['!evil.example', '!*.evil.example']],
  ],
  [
    'https://claude.ai',
    'claude.ai:443',
    'claude.ai/path',
    '*',
    '*.',
    '! claude.ai',
    'a..b@c',
    '*.*.example.com',
  ],
)

describeParser(
  'parseHostsWithPort',
  parseHostsWithPort,
  [
    ['', []],
    ['mcp.internal:8787, MCP.example.com', ['mcp.internal:8787', 'mcp.example.com']],
    ['[::1]:8787', ['[::1]:8787']],
  ],
  [
    'https://mcp.internal',
    'mcp.internal/path',
    'user@mcp.internal',
    'mcp.internal:99999',
    'a b',
    'mcp.internal:443',
  ],
)
