import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'
import type { Message } from './translator.ts'

const pages = {
  popup: { html: '../../../../extension/entrypoints/popup/index.html', stage: 'popup-stage.ts' },
  settings: { html: '../../../../extension/entrypoints/options/index.html', stage: 'settings-stage.ts' },
} as const

/** Builds the script and the style of a stage, which shows views from a test and can run anywhere. */
export async function buildStage(name: keyof typeof pages): Promise<{ script: string; style: string }> {
  const entry = fileURLToPath(new URL(pages[name].stage, import.meta.url))
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'stage' } },
  })
  const [{ output }] = built as [Rolldown.RolldownOutput]
  const script = output.find((file) => file.type === 'chunk')?.code ?? ''
  const style = output.find((file) => file.type === 'asset')?.source ?? ''
  return { script, style: String(style) }
}

/** Builds one of our pages and its style as a single document without the extension around it, as a stage. */
export async function buildStagedPage(name: keyof typeof pages): Promise<string> {
  const { script, style } = await buildStage(name)
  return readFileSync(new URL(pages[name].html, import.meta.url), 'utf8')
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace(/<script type="module"[^>]*>/, () => `<script type="module">${script}`)
}

/** Returns all texts of a language, by name. */
export function readMessages(locale: string): Record<string, Message> {
  const file = new URL(`../../../../extension/public/_locales/${locale}/messages.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Message>
}
