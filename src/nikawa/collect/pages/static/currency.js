// A currency by its name in the language of the page; English pages show its code. A project may pay in something that is none.
export function currencyName(code, language) {
  if (language === "en") return code;
  try { return new Intl.DisplayNames([language], { type: "currency" }).of(code) ?? code; } catch { return code; }
}
