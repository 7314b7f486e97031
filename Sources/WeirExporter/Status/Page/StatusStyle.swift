extension StatusPage {
  /// Colours are pairs for light and dark. Each state has a shape and words beside its colour.
  static let style: HTML = """

    :root{color-scheme:light dark;--page:#fcfcfb;--raised:#f4f4f1;--ink:#1b1d20;--soft:#5a5f66;--line:#e2e2dd;
    --area:#8fa9c6;--stroke:#3a6394;--link:#1f5fa8;--good:#1c7445;--warning:#855400;--bad:#b3261e;--quiet:#5a5f66}
    @media(prefers-color-scheme:dark){:root{--page:#121416;--raised:#1b1e21;--ink:#e7e7e3;--soft:#a0a5ac;--line:#2c3034;
    --area:#47617e;--stroke:#8db6e2;--link:#8bbcf3;--good:#6cc993;--warning:#e3b35c;--bad:#ff8b80;--quiet:#a0a5ac}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,
    "Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;font-variant-numeric:tabular-nums}
    main,footer{max-width:1200px;margin:0 auto;padding:0 32px;overflow-wrap:anywhere}
    header{display:flex;flex-wrap:wrap;align-items:baseline;justify-content:space-between;gap:2px 24px;padding:28px 0 0}
    h1{font-size:1.25rem;font-weight:650;letter-spacing:-.01em;margin:0}
    header p{margin:0;color:var(--soft);font-size:.87rem}
    h2{font-size:1.05rem;font-weight:650;margin:0;display:inline-block}
    section{margin:40px 0 0}
    section>h2{margin:0 0 8px}
    h2 small{font-weight:400;color:var(--soft);font-size:.87rem;margin-left:.3em}
    a{color:var(--link)}
    .c{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.87em}
    .bad{color:var(--bad)}.warning{color:var(--warning)}.good{color:var(--good)}.quiet{color:var(--quiet)}
    .m{unicode-bidi:isolate}
    .m::before{content:"";display:inline-block;width:.62em;height:.62em;margin-right:.45em;background:currentColor}
    .m.good::before{border-radius:50%}
    .m.quiet::before{border-radius:50%;background:none;border:1.5px solid}
    .m.warning::before{clip-path:polygon(50% 0,100% 100%,0 100%);transform:scale(1.2)}
    .m.bad::before{transform:rotate(45deg) scale(.95)}
    .calm{font-size:1.5rem;letter-spacing:-.015em;margin:28px 0 0}
    .calm .m{color:inherit}.calm .m::before{background:var(--good)}
    .problems{margin-top:24px}
    .problems ul{list-style:none;margin:0;padding:0}
    .problems li{border-left:4px solid;padding:10px 16px;margin:0 0 8px;background:var(--raised);
    border-radius:0 6px 6px 0;font-size:1.19rem;line-height:1.4}
    .problems .m{float:right;font-size:.84rem;margin:.25em 0 0 16px}
    .problems b,.problems li>span:last-child{color:var(--ink);unicode-bidi:isolate}
    .problems details{border:0}
    .problems details li{font-size:1rem;padding:6px 16px;margin:0 0 4px}
    .more{color:var(--soft);margin:8px 0 0;font-size:.87rem}
    dl,dd{margin:0}
    .totals{margin-top:28px;display:grid;grid-template-columns:auto minmax(0,1fr);gap:16px 48px;align-items:end}
    .totals dl{display:flex;flex-wrap:wrap;gap:12px 32px}
    .totals div{display:flex;flex-direction:column-reverse}
    dt{color:var(--soft);font-size:.8rem}
    .totals dd{font-size:1.6rem;line-height:1.2;letter-spacing:-.02em;font-weight:500}
    figure{margin:0;min-width:0}
    figcaption{display:flex;justify-content:space-between;gap:8px;color:var(--soft);font-size:.8rem;margin:0 0 4px}
    figcaption b{font-weight:400;white-space:nowrap}
    svg{display:block;width:100%;height:44px;border-bottom:1px solid var(--line)}
    .totals svg{height:56px}
    path{vector-effect:non-scaling-stroke}
    path.a{fill:var(--area)}path.b{fill:var(--bad)}path.l{fill:none;stroke:var(--stroke);stroke-width:1.75}
    details{border-top:1px solid var(--line)}
    section>:last-child{border-bottom:1px solid var(--line)}
    .problems>*,.totals>*,section>p.more,section>table{border-bottom:0!important}
    summary{cursor:pointer;padding:10px 0;list-style:none;color:var(--soft)}
    summary::-webkit-details-marker{display:none}
    summary h2{color:var(--ink)}
    summary::after{content:"";width:.42em;height:.42em;border:solid var(--soft);border-width:0 1.5px 1.5px 0;
    display:inline-block;margin:0 0 .2em .6em;transform:rotate(45deg)}
    [open]>summary::after{transform:rotate(-135deg);margin-bottom:-.1em}
    summary:hover::after{border-color:var(--ink)}
    :focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
    .row>summary{display:grid;grid-template-columns:minmax(0,1fr) 200px repeat(5,6rem) 1rem;gap:0 16px;
    align-items:center}
    .row>summary::after{justify-self:end;margin-right:3px}
    .row svg{height:34px}
    .n{display:flex;flex-direction:column;min-width:0}
    .n b{font-weight:600;color:var(--ink);unicode-bidi:isolate}
    .n .m{font-size:.84rem}
    .q{font-size:.8rem;line-height:1.3}
    .q b{display:block;font-size:1.05rem;font-weight:500;color:var(--ink);white-space:nowrap}
    .q b.bad{color:var(--bad)}.q b.warning{color:var(--warning)}
    .facts{display:flex;flex-wrap:wrap;gap:8px 32px;padding:4px 0 16px}
    .facts dd{unicode-bidi:isolate}
    .charts{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:16px 28px;padding:4px 0 20px}
    .charts svg{height:52px}
    .pair{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:8px 40px;align-items:start;padding:0 0 20px}
    table{border-collapse:collapse;width:100%;font-size:.9rem}
    th,td{text-align:right;vertical-align:top;padding:4px 0 4px 16px;font-weight:400}
    thead th{color:var(--soft);font-size:.8rem;vertical-align:bottom;line-height:1.25}
    tbody tr{border-top:1px solid var(--line)}
    th:first-child{text-align:left;padding-left:0}
    td small{display:block;color:var(--soft);font-size:.84em}
    .figures td{width:25%;white-space:nowrap}
    .short td:nth-child(2),.short th:nth-child(2){text-align:left}
    .short th:first-child{width:32%}
    .short :is(th,td):nth-child(n+3){white-space:nowrap}
    :is(.endpoints,.operations){margin:0 0 24px}
    :is(.endpoints,.credentials) :is(th,td):is(:nth-child(2),:last-child),
    .listeners :is(th,td):is(:nth-child(2),:nth-child(3)),
    .requests :is(th,td):is(:first-child,:nth-child(2),:nth-child(3),:nth-child(4),:last-child){text-align:left}
    .credentials td:last-child{width:50%}
    .requests td:first-child,.requests th:first-child{padding-left:0}
    .requests td:nth-child(2){width:30%}
    .requests td:last-child{width:11.5em;font-size:.78em;line-height:1.4;color:var(--soft)}
    .requests td:nth-child(5),.requests td:first-child{white-space:nowrap}
    footer{margin-top:40px;padding-bottom:40px;color:var(--soft);font-size:.87rem}
    footer p{margin:0 0 4px}
    #live.old{position:fixed;z-index:1;top:0;left:0;right:0;margin:0;padding:10px max(32px,50vw - 568px);
    background:var(--bad);color:var(--page);font-size:1rem;line-height:1.3;font-weight:600}
    body:has(#live.old){padding-top:40px}
    @media(max-width:820px){
    main,footer{padding-left:16px;padding-right:16px}
    header{padding-top:20px}
    #live.old{padding:10px 16px;font-size:.93rem}
    .calm{font-size:1.3rem}
    .problems li{font-size:1.07rem;padding:10px 12px}
    .totals{grid-template-columns:minmax(0,1fr)}
    .totals dl{display:grid;grid-template-columns:repeat(3,auto);gap:12px 16px}
    .totals dd{font-size:1.35rem}
    .row>summary{grid-template-columns:repeat(4,minmax(0,1fr)) 1rem;gap:8px 12px;padding:12px 0}
    .n{grid-column:1/5;flex-direction:row;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 12px}
    .row>summary::after{grid-column:5;grid-row:1}
    .row>summary svg{grid-column:1/-1;grid-row:2}
    .row>summary .q{grid-row:3}
    .row>summary .q:nth-of-type(4){display:none}
    .charts{grid-template-columns:repeat(2,minmax(0,1fr));gap:16px 20px}
    .pair{grid-template-columns:minmax(0,1fr);gap:20px}
    th,td{padding-left:10px}
    .short :is(th,td):is(:nth-child(5),:nth-child(6)){display:none}
    .fold thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
    .fold,.fold tbody{display:block}
    .fold tr{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:6px 12px;padding:10px 0}
    .fold :is(th,td),.fold td:last-child{display:block;width:auto;text-align:left;padding:0}
    .fold td:not(.m)::before{display:block;color:var(--soft);font:.8rem/1.3 system-ui,sans-serif}
    .listeners th,.requests td:is(:nth-child(2),:last-child),
    :is(.endpoints,.credentials) td:last-child{grid-column:1/-1}
    .requests td:nth-child(2){grid-row:1}
    :is(.endpoints,.credentials) th{grid-column:1/3}
    .requests td:first-child::before{content:"Time, UTC"}
    .requests td:nth-child(3)::before{content:"Way"}
    .requests td:nth-child(4)::before{content:"Result"}
    .requests td:nth-child(5)::before{content:"Took"}
    .requests td:nth-child(6)::before{content:"Attempts"}
    .requests td:last-child::before{content:"Trace"}
    .requests td:last-child:empty,:is(.endpoints,.credentials) td:last-child:empty{display:none}
    .operations th{grid-column:1/-1}
    .operations td:nth-child(2)::before{content:"Requests/s"}
    .operations td:nth-child(3)::before{content:"Failed 10 s"}
    .operations td:nth-child(4)::before{content:"Failed 5 min"}
    .operations td:nth-child(5)::before{content:"p50 10 s"}
    .operations td:nth-child(6)::before{content:"p99 10 s"}
    .operations td:nth-child(7)::before{content:"p99 5 min"}
    .endpoints td:nth-child(3)::before{content:"Share 10 s"}
    .endpoints td:nth-child(4)::before{content:"Share 5 min"}
    .endpoints td:nth-child(5)::before{content:"Failed 10 s"}
    .endpoints td:nth-child(6)::before{content:"Failed 5 min"}
    .endpoints td:nth-child(7)::before{content:"First byte"}
    .endpoints td:nth-child(8)::before{content:"In flight"}
    :is(.endpoints,.credentials) td:last-child::before{content:"Last failure"}
    .credentials td:nth-child(3)::before{content:"Expires in"}
    .credentials td:nth-child(4)::before{content:"Waiting"}
    .listeners td:nth-child(2)::before{content:"Address"}
    .listeners td:nth-child(3)::before{content:"Kind"}
    .listeners td:nth-child(4)::before{content:"Active"}
    .listeners td:nth-child(5)::before{content:"Idle"}
    .listeners td:nth-child(6)::before{content:"In a handshake"}
    }

    """
}
