import type { Intent } from '../core/ports.ts'
import { webExtension } from './web-extension.ts'

/** Lifetime of an intent that a permission prompt interrupted. */
const lifeMs = 60_000

/** Keeps an intent in memory. Does not wait: the following prompt may end the page. */
export function storeIntent(intent: Intent): void {
  void webExtension.storage.session.set({ intent: { ...intent, at: Date.now() } })
}

/** Returns the stored intent if it is younger than a minute, without removing it. */
export async function readIntent(): Promise<Intent | undefined> {
  const { intent } = (await webExtension.storage.session.get('intent')) as {
    intent?: Intent & { at: number }
  }
  return intent && Date.now() - intent.at < lifeMs ? intent : undefined
}

/** Returns and removes the stored intent. */
export async function takeIntent(): Promise<Intent | undefined> {
  const intent = await readIntent()
  await webExtension.storage.session.remove('intent')
  return intent
}
