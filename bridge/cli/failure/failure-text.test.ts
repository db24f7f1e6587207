import { describe, expect, it } from 'vitest'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { CredentialError, type CredentialFault } from '../../credentials/credential-store.ts'
import { NetworkError, type NetworkFault } from '../../http/http-client.ts'
import { OAuthFailure, type OAuthFault } from '../../oauth/login-port.ts'
import { TransportError, type TransportFault } from '../../transport/transport.ts'
import { CommandFailure, describeError, failureJson, failureText, rpcFailure } from './failure-text.ts'
import { exitCode, failureTable, type FailureCode } from './failure-table.ts'
import { commandName } from '../command.ts'
import { commandTable } from '../command-line/command-table.ts'
import { settingFlags } from '../../config/setting-table.ts'

const serverUrl = 'https://mcp.example.com/mcp'
const codes = Object.keys(failureTable) as FailureCode[]

/** An error for a code of the table. */
function errorOf(code: FailureCode): Error {
  const fault = code.replace(/^[a-z]+_/, '')
  if (code.startsWith('network_')) {
    return new NetworkError(fault as NetworkFault, 'https://mcp.example.com', 'what happened', { sent: true })
  }
  if (code.startsWith('server_')) return new TransportError(fault as TransportFault, 'what happened')
  if (code.startsWith('oauth_')) return new OAuthFailure(fault as OAuthFault, 'what happened')
  if (code.startsWith('credentials_')) return new CredentialError(fault as CredentialFault, 'what happened')
  return code === 'configuration' ? new ConfigError(['what happened']) : new Error('what happened')
}

it.each(codes)('the failure %s is found by its error, and has a meaning and a usable next step', (code) => {
  const { meaning, nextStep, exit = exitCode.failed } = failureTable[code]
  expect(meaning).toMatch(/^[A-Z].*\.$/)
  expect(nextStep).toMatch(/^(?:[A-Z].*|drawbridge \w.*)$/)
  expect(Object.values(exitCode)).toContain(exit)
  expect(exit).not.toBe(exitCode.ok)
  const found = { code, exit, nextStep: nextStep.replaceAll('{url}', serverUrl) }
  expect(describeError(errorOf(code), { serverUrl })).toMatchObject(found)
  // The same text is read on macOS and Windows.
  expect(nextStep).not.toMatch(/gnome|secret service|apt /i)
  const names = commandTable.map((row) => commandName(row))
  for (const [, name = ''] of nextStep.matchAll(/drawbridge ([a-z]+)(?: |$)/g)) expect(names).toContain(name)
  for (const [flag] of nextStep.matchAll(/--[a-z][\w-]+/g))
    expect([...settingFlags, '--all', '--force', '--help', '--version']).toContain(flag)
})

describe('a failed command', () => {
  it('a failed command says what failed, why, and what to do next', () => {
    const failure = describeError(new OAuthFailure('expired', 'the login has ended'), { serverUrl })
    expect(failureText('token', failure)).toBe(
      `drawbridge token failed.\n  - The login has ended.\ndrawbridge login ${serverUrl}`,
    )
    expect(JSON.parse(failureJson(failure))).toEqual({
      ok: false,
      code: 'oauth_expired',
      errors: ['The login has ended.'],
      next_step: `drawbridge login ${serverUrl}`,
    })
    expect(failure.exit).toBe(exitCode.signInNeeded)
  })

  it.each([
    ['the login has ended', 'The login has ended.'],
    ['mcp.example.com refused the connection', 'mcp.example.com refused the connection.'],
    ['localhost has no address', 'localhost has no address.'],
    ['https://mcp.example.com sent no response', 'https://mcp.example.com sent no response.'],
  ])('a failure turns %j into a sentence, and keeps names as they are', (message, said) => {
    const failure = describeError(new OAuthFailure('expired', message), { serverUrl })
    expect(failure.sentences).toEqual([said])
  })

  it('a failed command lists every fault of a configuration', () => {
    const failure = describeError(new ConfigError(['a: bad.', 'b: bad.']), { serverUrl: undefined })
    expect(failureText('', failure)).toBe(
      'drawbridge did not start.\n  - a: bad.\n  - b: bad.\nEvery flag: drawbridge --help',
    )
    expect(failure.exit).toBe(exitCode.usage)
  })

  it('a failed command ends with the next step of its command', () => {
    const error = new CommandFailure('not that', 'drawbridge login {url}')
    expect(describeError(error, { serverUrl: undefined })).toEqual({
      code: 'command',
      sentences: ['Not that.'],
      nextStep: 'drawbridge login <url>',
      exit: exitCode.failed,
    })
  })

  it('the next step of a failure names the profile of a login', () => {
    const error = new OAuthFailure('expired', 'over')
    expect(describeError(error, { serverUrl, profile: 'my work' }).nextStep).toBe(
      `drawbridge login ${serverUrl} --profile "my work"`,
    )
    expect(describeError(error, { serverUrl, profile: 'default' }).nextStep).toBe(
      `drawbridge login ${serverUrl}`,
    )
  })

  it.each([
    ['environment', 'DRAWBRIDGE_TOKEN'],
    ['header', 'header'],
    ['other_header', 'header'],
  ] as const)('the failure of a fixed credential (%s) advises more than a sign-in', (fixedBy, named) => {
    const failure = describeError(new TransportError('sign_in_needed', 'wants'), { serverUrl, fixedBy })
    expect(failure).toMatchObject({ code: 'server_sign_in_needed', exit: exitCode.signInNeeded })
    expect(failure.sentences.join(' ')).toContain(named)
    expect(failure.nextStep).not.toMatch(/^drawbridge login/)
  })

  it.each([
    ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
    ['https://mcp.example.com/mcp?a=1&b=2', '"https://mcp.example.com/mcp?a=1&b=2"'],
    ["https://x.example/'$(id)", String.raw`'https://x.example/'\''$(id)'`],
  ])('the next step quotes %s as a word for a shell', (url, word) => {
    const error = new OAuthFailure('expired', 'over')
    expect(describeError(error, { serverUrl: url }).nextStep).toBe(`drawbridge login ${word}`)
  })

  it('a failure shows the place of an unexpected error, and none of its text', () => {
    const [sentence = ''] = describeError(new TypeError('bad token sEcReT'), { serverUrl }).sentences
    expect(sentence).toMatch(
      /^Something unexpected happened \(TypeError at failure-text\.test\.ts:\d+:\d+\)\.$/,
    )
    expect(describeError('sEcReT', { serverUrl }).sentences).toEqual([
      'Something unexpected happened (string).',
    ])
    expect(describeError(undefined, { serverUrl })).toMatchObject({
      code: 'unexpected',
      exit: exitCode.failed,
    })
  })

  it('a failure keeps the message of a system error', () => {
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    })
    expect(describeError(error, { serverUrl }).sentences).toEqual(['ENOSPC: no space left on device, write.'])
  })
})

it('the JSON-RPC error of a failure has the next step, and a code for programs', () => {
  const error = new TransportError('rate_limited', 'the server got too many requests', {
    status: 429,
    retryAfterSeconds: 7,
  })
  expect(rpcFailure(error, { serverUrl })).toEqual({
    code: -32_603,
    message: 'The server got too many requests. Wait as long as it says, and try again.',
    data: {
      code: 'server_rate_limited',
      next_step: 'Wait as long as it says, and try again.',
      status: 429,
      retry_after_seconds: 7,
    },
  })
})

it('the JSON-RPC error of a failure names origin and issuer if they are known', () => {
  const network = new NetworkError('dns', 'https://mcp.example.com', 'no address', { sent: false })
  expect(rpcFailure(network, { serverUrl }).data).toMatchObject({ origin: 'https://mcp.example.com' })
  const oauth = new OAuthFailure('unavailable', 'later', {
    issuer: 'https://as.example',
    retryAfterSeconds: 3,
  })
  expect(rpcFailure(oauth, { serverUrl }).data).toMatchObject({
    issuer: 'https://as.example',
    retry_after_seconds: 3,
  })
})
