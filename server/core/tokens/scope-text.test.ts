import { expect, it } from 'vitest'
import { isScopeText, requireScopeText } from './scope-text.ts'

it.each<[rule: string, text: string, expected: boolean]>([
  ['one scope', 'mcp', true],
  ['several', 'mcp offline_access', true],
  ['every character that is allowed', "!#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~", true],
  ['blanks too many', '  mcp   x ', true],
  ['nothing', '', true],
  ['a quote', 'mcp"', false],
  ['a back-slash', 'mcp\\x', false],
  ['a tab', 'mcp\tx', false],
  ['a line end at the end', 'mcp\n', false],
  ['DEL', 'mcp\u007F', false],
  ['beyond ASCII', 'mcpé', false],
])('RFC 6749 A.4: %s', (_rule, text, expected) => {
  expect(isScopeText(text)).toBe(expected)
  const require = (): void => requireScopeText(text)
  if (expected) expect(require).not.toThrow()
  else expect(require).toThrow(expect.objectContaining({ code: 'invalid_scope', status: 400 }))
})

it('an omitted scope is none', () => {
  expect(() => requireScopeText(undefined)).not.toThrow()
})
