import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Language } from '../../texts/language.ts'

/** Renders roughly how long ago `at` was, both in epoch seconds. */
export function timeAgo(at: number, now: number, language: Language): SafeHtml {
  return html`<time datetime="${machineTime(at)}">${language.ago(at, now)}</time>`
}

export function dayTime(at: number, language: Language): SafeHtml {
  return html`<time datetime="${machineTime(at)}">${language.date(at)}</time>`
}

function machineTime(at: number): string {
  return new Date(at * 1000).toISOString()
}
