import { describe, expect, it } from 'vitest'
import { foreignFlags } from './setting-foreign.ts'
import { readWords } from '../../tests/support/bridge/cli/command-words.ts'
import { settingFlags } from './setting-argument.ts'
import { settings } from './setting-table.ts'

/** Every flag of mcp-remote 0.15.1, with whether it takes a value. */
const mcpRemoteFlags: [flag: `--${string}`, takesValue: boolean][] = [
  ['--host', true],
  ['--callback-path', true],
  ['--header', true],
  ['--header-file', true],
  ['--transport', true],
  ['--protocol', true],
  ['--resource', true],
  ['--disable-resource-parameter', false],
  ['--authorize-param', true],
  ['--static-oauth-client-info', true],
  ['--static-oauth-client-metadata', true],
  ['--client-metadata-url', true],
  ['--client-credentials', false],
  ['--token-endpoint', true],
  ['--device-code', false],
  ['--use-id-token', false],
  ['--auth-timeout', true],
  ['--connect-timeout', true],
  ['--headers-timeout', true],
  ['--body-timeout', true],
  ['--keep-alive', false],
  ['--ping-interval', true],
  ['--ipv4', false],
  ['--allow-http', false],
  ['--enable-proxy', false],
  ['--ignore-tool', true],
  ['--auth-success-url', true],
  ['--disable-cookies', false],
  ['--debug', false],
  ['--silent', false],
]

describe('the table of settings', () => {
  it.each(mcpRemoteFlags)('takes %s as mcp-remote does', (flag, takesValue) => {
    const words = ['https://mcp.example.com', flag, ...(takesValue ? ['value'] : []), '3334']
    const { problems, operands } = readWords(words)
    expect(problems).toEqual([])
    expect(operands).toEqual(['https://mcp.example.com', '3334'])
  })

  it('has every field, flag and variable once', () => {
    for (const names of [
      settings.map(({ field }) => field),
      settings.map(({ variable }) => variable),
      [...settingFlags, ...Object.keys(foreignFlags).map((flags) => flags.split(' ')[0])],
    ]) {
      expect(names).toEqual([...new Set(names)])
    }
  })

  it.each(settings)('$name is documented in sentences', ({ doc, defaultText }) => {
    expect(doc).toMatch(/^[A-Z].*\.$/)
    expect(defaultText).not.toBe('')
  })
})
