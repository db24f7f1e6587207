import type { Intent } from '../core/ports.ts'
import { webExtension } from './web-extension.ts'

/** How long it is worth going on with what the question about a permission interrupted. */
const lifeMs = 60_000

/** Keeps an intent in memory. Does not wait: what asks next may end the page. */
export function storeIntent(intent: Intent): void {
  void webExtension.storage.session.set({ intent: { ...intent, at: Date.now() } })
}

/** The intent that is kept, if it is younger than a minute. It stays. */
export async function readIntent(): Promise<Intent | undefined> {
  const { intent } = (await webExtension.storage.session.get('intent')) as {
    intent?: Intent & { at: number }
  }
  return intent && Date.now() - intent.at < lifeMs ? intent : undefined
}

/** The same, and it is gone. */
export async function takeIntent(): Promise<Intent | undefined> {
  const intent = await readIntent()
  await webExtension.storage.session.remove('intent')
  return intent
}
