import type { ConnectionTest } from '../core/endpoint/connection-test.ts'
import { messagePart } from './message.ts'
import type { Translate } from './message.ts'
import { fillList, find } from './slot.ts'
import type { Contents } from './slot.ts'

/** What asking the server has shown: a sentence with what to do next, and what the server said itself. */
export function renderConnectionTest(
  root: HTMLElement,
  test: ConnectionTest,
  server: string,
  translate: Translate,
): Contents {
  const tools = test.kind === 'passed' ? test.tools : []
  find(root, 'test-said').className = test.kind
  fillList(root, 'tools', tools, (tool) => ({ tool }))
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
    // Our languages know these two; one with more of them adds texts of the same pattern.
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
