import { describe, expect, test } from 'vitest'
import { secondFactorPage, type SecondFactorView } from './code-page.ts'
import { secondFactorSample } from '../../../tests/support/pages/view-sample.ts'

const forms = (page: string): string[] => page.match(/<form[\s\S]*?<\/form>/g) ?? []
const two: SecondFactorView = {
  ...secondFactorSample,
  factors: [
    { id: 'phone', label: 'Phone' },
    { id: 'tablet', label: 'Tablet' },
  ],
}

test('the code field has a numeric keyboard and autofills one-time codes', () => {
  const input = /<input\s+id="code"[^>]*>/.exec(secondFactorPage(secondFactorSample))?.[0]
  for (const attribute of ['inputmode="numeric"', 'autocomplete="one-time-code"', 'autofocus', 'required'])
    expect(input).toContain(attribute)
})

describe('the choice of a factor', () => {
  test('the second-factor page shows no choice for one factor', () => {
    expect(secondFactorPage(secondFactorSample)).not.toMatch(/<fieldset|type="radio"/)
  })

  const checked = (view: SecondFactorView): string | undefined =>
    /value="([^"]*)"\s+checked/.exec(secondFactorPage(view))?.[1]

  test.each([
    ['nothing was tried: the first', two, 'phone'],
    ['the second was tried: the second', { ...two, chosen: 'tablet' }, 'tablet'],
    ['an unknown one was tried: the first', { ...two, chosen: 'watch' }, 'phone'],
  ])('%s', (_case, view, id) => {
    expect(checked(view)).toBe(id)
  })

  test('the second-factor page numbers a factor without a name', () => {
    const page = secondFactorPage({ ...two, factors: [...two.factors, { id: 'third', label: ' ' }] })
    expect(page).toContain('>Authenticator app 3</bdi')
  })
})

test('the forms to confirm and to cancel on the second-factor page are separate', () => {
  const found = forms(secondFactorPage(secondFactorSample))
  expect(found).toHaveLength(2)
  for (const form of found) {
    expect(form).toContain('method="post" action="/oauth/authorize"')
    expect(form).toContain(`name="transaction" value="${secondFactorSample.transaction}"`)
  }
  const [confirm = '', cancel = ''] = found
  expect(confirm).toContain('Confirm and allow')
  expect(confirm).not.toContain('name="action"')
  expect(cancel).toContain('name="action" value="deny"')
  expect(cancel).not.toContain('name="code"')
})

test('the second-factor page of the connections does not mention access', () => {
  const page = secondFactorPage({ ...secondFactorSample, subject: { kind: 'account' } })
  expect(page).toContain('>Confirm</button>')
  expect(page).toContain('>Cancel</button>')
  expect(page).not.toContain('and allow')
})

test('an error on the second-factor page is announced, describes the field and is in the title', () => {
  const page = secondFactorPage({ ...secondFactorSample, error: 'Wrong.' })
  expect(page).toContain('role="alert" id="form-error"')
  expect(page).toContain('aria-describedby="code-hint form-error"')
  expect(page).toContain('<title>Not confirmed: ')
  expect(secondFactorPage(secondFactorSample)).not.toMatch(/role="alert"|form-error|Not confirmed/)
})
