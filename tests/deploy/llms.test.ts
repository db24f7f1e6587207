import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { read, root } from './deploy-files.ts'

it('llms.txt lists each page of the documentation once, and nothing else', () => {
  const text = read('llms.txt')
  expect(text).toMatch(/^# Drawbridge\n\n> .+\n\n## /)
  const listed = [...text.matchAll(/^- \[.+?\]\((.+?)\): .+$/gm)].map(([, path = '']) => path)
  for (const path of listed) expect(existsSync(join(root, path)), path).toBe(true)
  expect(new Set(listed).size).toBe(listed.length)
  const pages = globSync('docs/{,quickstart/}*.md', { cwd: root }).filter(
    (path) => !path.endsWith('README.md'),
  )
  expect(pages.filter((path) => !listed.includes(path))).toEqual([])
})
