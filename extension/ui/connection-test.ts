import type { ConnectionTest } from '../core/endpoint/endpoint-test.ts'
import { messagePart, type Translate } from './message.ts'
import { fillList, find, type Contents } from './slot.ts'

/** Shows the result of a connection test: a sentence with the next step, and the server's own words. */
export function renderConnectionTest(
  root: HTMLElement,
  test: ConnectionTest,
  server: string,
  translate: Translate,
): Contents {
  const tools = test.kind === 'passed' ? test.tools : []
  const said = find(root, 'test-said')
  const before = said.textContent
  said.className = test.kind
  fillList(root, 'tools', tools, (tool) => ({ tool }))
  // In a low popup a new result would lie below the edge. The caller shows it first.
  requestAnimationFrame(() => {
    if (test.kind !== 'none' && said.textContent !== before)
      said.closest('.test')?.scrollIntoView({ block: 'nearest' })
  })
  return {
    'test-said': test.kind !== 'none' && sentence(test, server, translate),
    'test-detail': detail(test),
    'allow-test': test.kind === 'no-permission' && translate('action_allow', test.host),
  }
}

function sentence(
  test: Exclude<ConnectionTest, { kind: 'none' }>,
  server: string,
  translate: Translate,
): string {
  if (test.kind === 'passed') {
    const count = test.tools.length
    // Our languages have only these two; one with more adds texts of the same pattern.
    const plural = new Intl.PluralRules(translate('locale')).select(count) as 'one' | 'other'
    return translate(`test_passed_${plural}`, test.server ?? server, `${test.milliseconds}`, `${count}`)
  }
  const status = 'status' in test ? `${test.status}` : ''
  return translate(`test_${messagePart(test.kind)}`, 'host' in test ? test.host : server, status)
}

function detail(test: ConnectionTest): string | undefined {
  if (test.kind === 'not-mcp') return test.detail
  if (test.kind === 'refused') return [test.error, test.description].filter(Boolean).join(': ') || undefined
}
