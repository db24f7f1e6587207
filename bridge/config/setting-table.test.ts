import { describe, expect, it } from 'vitest'
import { foreignFlags } from './setting-foreign.ts'
import { readWords } from '../../tests/support/bridge/cli/command-words.ts'
import { settingFlags, settings } from './setting-table.ts'

/** Every flag of mcp-remote 0.15.1. */
const withValue =
  '--host --callback-path --header --header-file --transport --protocol --resource --authorize-param ' +
  '--static-oauth-client-info --static-oauth-client-metadata --client-metadata-url --token-endpoint --auth-timeout ' +
  '--connect-timeout --headers-timeout --body-timeout --ping-interval --ignore-tool --auth-success-url'
const switches =
  '--disable-resource-parameter --client-credentials --device-code --use-id-token --keep-alive --ipv4 --allow-http ' +
  '--enable-proxy --disable-cookies --debug --silent'

describe('the table of settings', () => {
  it.each([
    ...withValue.split(' ').map((flag) => [flag, 'value']),
    ...switches.split(' ').map((flag) => [flag]),
  ])('the table of settings takes %s as mcp-remote does', (...flag) => {
    const words = ['https://mcp.example.com', ...flag, '3334']
    const { problems, operands } = readWords(words)
    expect(problems).toEqual([])
    expect(operands).toEqual(['https://mcp.example.com', '3334'])
  })

  it('the table of settings has every field, flag and variable once', () => {
    for (const names of [
      settings.map(({ field }) => field),
      settings.map(({ variable }) => variable),
      [...settingFlags, ...Object.keys(foreignFlags).map((flags) => flags.split(' ')[0])],
    ]) {
      expect(names).toEqual([...new Set(names)])
    }
  })

  it.each(settings)('the setting $name is documented in sentences', ({ doc, defaultText }) => {
    expect(doc).toMatch(/^[A-Z].*\.$/)
    expect(defaultText).not.toBe('')
  })
})
