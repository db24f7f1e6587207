import { describeParser } from '../../tests/support/settings/describe-parser.ts'
import {
  orOff,
  parseAddressRanges,
  parseBaseUrl,
  parseCaptcha,
  parseCount,
  parseDuration,
  parseDocumentHosts,
  parseListenAddress,
  parseOrigins,
  parsePageUrl,
  parseParameters,
  parsePort,
  parseSocial,
} from './config-value.ts'

describeParser(
  'MCP auth Communication-Security, OAuth 2.1 1.5: parseBaseUrl',
  parseBaseUrl,
  [
    ['https://mcp.example.com', 'https://mcp.example.com'],
    ['https://mcp.example.com/', 'https://mcp.example.com'],
    ['https://MCP.Example.com:443', 'https://mcp.example.com'],
    ['https://example.com/tools/', 'https://example.com/tools'],
    ['http://localhost:8787', 'http://localhost:8787'],
    ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
    ['http://127.8.8.8', 'http://127.8.8.8'],
    ['http://[::1]:8787/', 'http://[::1]:8787'],
    ['https://mcp.example.com?', 'https://mcp.example.com'],
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
  'parsePageUrl',
  parsePageUrl,
  [
    ['https://example.com/privacy', 'https://example.com/privacy'],
    ['https://example.com/legal?page=privacy#top', 'https://example.com/legal?page=privacy#top'],
    ['http://localhost:3000/privacy', 'http://localhost:3000/privacy'],
  ],
  ['', 'http://example.com', 'javascript:alert(1)', 'https://a@example.com', 'https://a:b@example.com'],
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
  ['', ':8787', 'localhost', '127.0.0.1:65536', '::1:8787', 'a b:1', '1e3', 'http://localhost:1'],
)

describeParser(
  'parseDuration',
  parseDuration,
  [
    ['1', 1],
    ['90', 90],
    ['15m', 900],
    ['1.5h', 5400],
    ['30d', 2_592_000],
    ['3650d', 315_360_000],
  ],
  ['', '0', '1.5s', '500ms', '30 d', ' 1', '1H', '3651d', '1e3'],
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
    'https://user@app.example.com',
    'https://*.example.com',
    'https://good.example.com, bad',
  ],
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
  'orOff',
  orOff(parseDuration),
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
  'parseAddressRanges',
  parseAddressRanges,
  [
    ['', []],
    ['127.0.0.1, ::1', ['127.0.0.1', '::1']],
    ['10.0.0.0/8,2001:db8::/32', ['10.0.0.0/8', '2001:db8::/32']],
    ['203.0.113.9, private', ['203.0.113.9', ...parseAddressRanges('private')]],
  ],
  [
    'Private',
    'private/8',
    'public',
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0',
    '*',
    '127.0.0.1,proxy',
  ],
)

describeParser(
  'parsePort',
  parsePort,
  [
    ['1', { host: '0.0.0.0', port: 1 }],
    ['65535', { host: '0.0.0.0', port: 65_535 }],
  ],
  ['', '0', '65536', '000000', '8080 ', '::8080'],
)

describeParser(
  'parseDocumentHosts',
  parseDocumentHosts,
  [
    ['', []],
    ['on', []],
    ['TRUE', []],
    ['off', undefined],
    ['0', undefined],
    ['claude.ai, *.Example.com', ['claude.ai', '*.example.com']],
    ['!evil.example,!*.evil.example', ['!evil.example', '!*.evil.example']],
  ],
  ['https://claude.ai', 'claude.ai:443', '*', '! claude.ai', 'a..b@c', '*.*.example.com'],
)

describeParser(
  'parseSocial',
  parseSocial,
  [
    ['google', [{ id: 'google', scopes: undefined }]],
    [
      'google, keycloak=openid  profile ,custom:acme = groups',
      [
        { id: 'google', scopes: undefined },
        { id: 'keycloak', scopes: 'openid profile' },
        { id: 'custom:acme', scopes: 'groups' },
      ],
    ],
    [
      'azure=email offline_access,google=https://www.googleapis.com/auth/calendar',
      [
        { id: 'azure', scopes: 'email offline_access' },
        { id: 'google', scopes: 'https://www.googleapis.com/auth/calendar' },
      ],
    ],
  ],
  ['keycloak=', '=openid', 'keycloak=openid=profile', 'google keycloak', 'keycloak=open"id'],
)
