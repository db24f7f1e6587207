import { afterEach, expect, it, vi } from 'vitest'
import { translate } from './translate.ts'

afterEach(() => vi.unstubAllGlobals())

it('asks the browser for the text, with what is to be filled in', () => {
  const getMessage = vi.fn(() => 'You are not signed in to app.example.com.')
  vi.stubGlobal('chrome', { i18n: { getMessage } })
  expect(translate('signed_out_title', 'app.example.com')).toBe('You are not signed in to app.example.com.')
  expect(getMessage).toHaveBeenCalledExactlyOnceWith('signed_out_title', ['app.example.com'])
})
