import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['data/**', 'node_modules/**', '.tap/**', 'drizzle/migrations/**'] }),
  {
    rules: {
      // The contract's names, in JSON and in the database, are snake case; a schema and its type share one name.
      camelcase: 'off',
      '@typescript-eslint/no-redeclare': 'off',
      complexity: ['error', 15],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      '@stylistic/max-len': ['error', { code: 150, ignoreUrls: true, ignoreTemplateLiterals: true, ignoreStrings: true, ignoreRegExpLiterals: true }]
    }
  },
  { files: ['test/**'], rules: { 'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }] } }
]
