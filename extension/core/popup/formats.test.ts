import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { formatText } from './formats.ts'

const run = promisify(execFile)
const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln'
const baseUrl = 'https://mcp.example.com'

describe('golden texts', () => {
  test.each([
    ['token', token],
    ['header', `Authorization: Bearer ${token}`],
    ['environment', `export DRAWBRIDGE_TOKEN='${token}'`],
    [
      'curl',
      `curl 'https://mcp.example.com/mcp' \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -H 'Accept: application/json, text/event-stream' \\
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    ],
    ['bridge', `printf %s '${token}' | drawbridge token set 'https://mcp.example.com/mcp'`],
    ['config-claude-code', `claude mcp add --transport http example-com https://mcp.example.com/mcp`],
    ['config-codex', `codex mcp add example-com --url https://mcp.example.com/mcp`],
    [
      'test-claude-code',
      `claude mcp add --transport http example-com-test https://mcp.example.com/mcp --header 'Authorization: Bearer ${token}'`,
    ],
  ] as const)('the format %s has its exact text', (format, text) => {
    expect(formatText(format, { token, baseUrl })).toBe(text)
  })

  test.each([
    ['token', token],
    ['environment', `$env:DRAWBRIDGE_TOKEN = '${token}'`],
    [
      'curl',
      `'{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | curl.exe 'https://mcp.example.com/mcp' \`
  -H 'Authorization: Bearer ${token}' \`
  -H 'Content-Type: application/json' \`
  -H 'Accept: application/json, text/event-stream' \`
  -d '@-'`,
    ],
    ['bridge', `'${token}' | drawbridge token set 'https://mcp.example.com/mcp'`],
    ['config-claude-code', `claude mcp add --transport http example-com https://mcp.example.com/mcp`],
    [
      'test-claude-code',
      `claude mcp add --transport http example-com-test https://mcp.example.com/mcp --header 'Authorization: Bearer ${token}'`,
    ],
  ] as const)('the format %s has its exact text for PowerShell on Windows', (format, text) => {
    expect(formatText(format, { token, baseUrl, onWindows: true })).toBe(text)
  })

  it('a quote in a token, also a typographic one, is doubled for PowerShell', () => {
    const odd = "a'b\u2019c\u201B$(calc)"
    expect(formatText('environment', { token: odd, baseUrl: undefined, onWindows: true })).toBe(
      "$env:DRAWBRIDGE_TOKEN = 'a''b\u2019\u2019c\u201B\u201B$(calc)'",
    )
  })

  test.each([
    [
      'config-claude-desktop',
      {
        mcpServers: {
          'example-com': { command: 'drawbridge', args: ['https://mcp.example.com/mcp'] },
        },
      },
    ],
    ['config-cursor', { mcpServers: { 'example-com': { url: 'https://mcp.example.com/mcp' } } }],
    ['config-vscode', { servers: { 'example-com': { type: 'http', url: 'https://mcp.example.com/mcp' } } }],
    [
      'test-cursor',
      {
        mcpServers: {
          'example-com-test': {
            url: 'https://mcp.example.com/mcp',
            headers: { Authorization: `Bearer ${token}` },
          },
        },
      },
    ],
    [
      'test-vscode',
      {
        inputs: [
          { type: 'promptString', id: 'example-com-token', description: 'Access token', password: true },
        ],
        servers: {
          'example-com-test': {
            type: 'http',
            url: 'https://mcp.example.com/mcp',
            // eslint-disable-next-line no-template-curly-in-string
            headers: { Authorization: 'Bearer ${input:example-com-token}' },
          },
        },
      },
    ],
  ] as const)('the format %s has its exact JSON', (format, value) => {
    expect(formatText(format, { token, baseUrl })).toBe(JSON.stringify(value, undefined, 2))
  })
})

describe('the texts in a shell', () => {
  const shells = ['sh', 'bash']
  /** Runs a line with a program of that name that prints its arguments, and stdin on request. */
  async function wordsOf(shell: string, line: string, program: string): Promise<string[]> {
    const stub = `${program}() { printf '%s\\n' "$@" "stdin:$(if [ ! -t 0 ]; then cat; fi)"; }`
    const child = run(shell, ['-c', `${stub}\n${line}`])
    child.child.stdin?.end()
    return (await child).stdout.trimEnd().split('\n')
  }
  // Every character of a URL or token that is special to a shell.
  const hostile = 'https://mcp.example.com/a\'b$(touch%20x)`id`;&|*?~"#'
  const odd = '~a.b-c_d+e/f=='

  test.each(shells)('words of a command line arrive unchanged in %s', async (shell) => {
    const input = { token: odd, baseUrl: hostile }
    const url = `${hostile}/mcp`
    expect(await wordsOf(shell, formatText('bridge', input), 'drawbridge')).toEqual([
      'token',
      'set',
      url,
      `stdin:${odd}`,
    ])
    expect(await wordsOf(shell, formatText('test-claude-code', input), 'claude')).toEqual([
      'mcp',
      'add',
      '--transport',
      'http',
      'example-com-test',
      url,
      '--header',
      `Authorization: Bearer ${odd}`,
      'stdin:',
    ])
    const line = `${formatText('environment', input)}; printf %s "$DRAWBRIDGE_TOKEN"`
    expect((await run(shell, ['-c', line])).stdout).toBe(odd)
  })

  it('formatText quotes any printable text for a shell', async () => {
    const texts = fc.sample(fc.string({ unit: 'grapheme-ascii', minLength: 1 }), 40)
    const lines = texts.map((text) => formatText('environment', { token: text, baseUrl: undefined }))
    const line = lines.map((each) => `${each}; printf '%s\\n' "$DRAWBRIDGE_TOKEN"`).join('\n')
    expect((await run('sh', ['-c', line])).stdout).toBe(`${texts.join('\n')}\n`)
  })
})
