"""Words that decide whether a full stop ends a sentence; the larger languages of Europe share one table.

The language of a text is not known here and hardly matters: few words are an abbreviation in one language and a
common last word in another. A word in lower case also covers its capitalised form, but not the other way round.
"""

# The sentence continues after these, whatever follows.
NEVER_LAST = frozenset(
    """
    mr mrs Ms Sr messrs dr prof Rev Hon Gen Col Capt Lt Sgt Gov Sen Rep Pres Supt Insp Cmdr Adm Maj
    e.g i.e cf vs viz approx resp esp incl excl ibid
    Hr Hrn Fr Frl dipl Ing Mag z.b d.h d.i u.a u.ä o.ä o.g s.o s.u i.d.r i.a z.t z.zt i.v i.s.v m.e u.u v.a bzw bspw
    vgl ggf evtl sog ca ggü zzgl inkl exkl bzgl einschl geb
    MM mme mlle mgr p.ex c.-à-d env
    sra srta Srs Sres dra dña Ud Uds p.ej EE exmo exma ilmo Sig sig.ra sig.na sigg dott dott.ssa avv p.es
    dhr mevr mw Drs Ir bijv o.a d.w.z m.b.t t.o.v i.p.v
    t.ex bl.a dvs s.k f.eks f.ex esim ks
    np tzn tzw tj m.in św inż ul płk např tzv ún kb örn bkz Sn
    т.е т.к т.н т.ч им ул просп акад проф тов св наб см напр т.зв вул ім див
    π.χ δηλ βλ
    """.split()
)

# The sentence continues after these unless the next word often begins a sentence (FIRST_WORDS).
SELDOM_LAST = frozenset(
    """
    st jr snr inc ltd co corp bros dept univ assn ave rd blvd mt ft al ph.d m.d b.a m.a a.m p.m u.s u.k u.s.a u.n b.c
    a.d
    str n.chr v.chr u.z jh jhd mio mrd tsd
    av bd ste j.-c s.a s.l uu s.p.a s.r.l s.r.o
    г гг в вв тыс млн млрд руб коп обл р н.э м
    """.split()
)

# In text without capitals, the sentence continues after these if a lower-case letter follows.
BEFORE_SMALL = frozenset("etc usw ecc enz atd itd osv др т.д т.п и.т.д κ.λπ κ.ά".split())

# The sentence continues after these if a number follows.
BEFORE_NUMBERS = frozenset(
    """
    no nos nr nrn num núm nº p pp pg pag pág págs s ss sp par abs art artt arts ziff rn rz kap cap chap ch sec sect
    fig figs
    figg abb tab tabl vol vols bd bde tl jg h ed eq gl op ex v vv l ll z zz st bl blz č str kl klo kpl lk tel fax rt
    jan jän feb febr mar mär apr jun jul aug sep sept oct okt nov dec dez janv févr avr juil déc ene abr ago dic gen
    mag giu
    lug set ott mrt
    стр рис табл гл п пп ст кн № ч тел αρ σελ
    """.split()
)

# A number with a full stop before one of these is a day or another ordinal.
BEHIND_ORDINALS = frozenset(
    """
    januar jänner januari februar feber februari märz april mai juni juli august september oktober november dezember
    jan feb
    febr mär apr jun jul aug sep sept okt nov dez
    jahrhundert jahrhunderts jh jhd jahrtausend geburtstag hochzeitstag jahrestag todestag weltkrieg lebensjahr mal
    platz
    stock stocks stockwerk straße etage klasse kapitel auflage spieltag runde minute tag woche monat
    """.split()
)

# A number with a full stop after one of these is an ordinal: am 3., der 2. Weltkrieg.
BEFORE_ORDINALS = frozenset(
    """
    am im vom zum zur der die das den dem des beim bis ab seit jeder jedes jeden dieser dieses diesen
    mein meine meinen meinem meiner dein deine deinen deinem deiner sein seine seinen seinem seiner ihr ihre ihren
    ihrem
    ihrer unser unsere unseren unserem unserer
    """.split()
)

# Words that often begin sentences and are hardly ever names: a full stop before one of them ends a sentence.
FIRST_WORDS = frozenset(
    """
    I The A An This That These Those There Here He She It We You They My His Her Its Our Your Their But And Or If When
    While
    Then What Why How Where Who After Before However Although Because Since As At In On For From To With By Not No Yes
    Some Many Most Both Each All Is Are Was Were Do Does Did Has Have Please Also Now
    Der Die Das Den Dem Des Ein Eine Einen Einem Einer Er Sie Es Ich Du Wir Ihr Man Dies Diese Dieser Dieses Aber Und
    Oder
    Denn Doch Dann Danach Da Dort Hier Wenn Als Nach Vor Seit Bei Mit Auf Aus Für Im Am An Zum Zur Zu Wer Wie Wo Warum
    Wann Was Auch Nur Nun Jetzt Heute Gestern Morgen Nicht Kein Keine Sein Seine Mein Meine Unser Später Dabei Damit
    Daher Deshalb
    Le La Les Un Une Des Il Elle Ils Elles Je Tu Nous Vous On Ce Cette Ces Mais Et Ou Si Quand Puis Dans Pour Par Sur
    Avec Sans Après Avant
    El Los Las Una Unos Ella Ellos Yo Esto Esta Este Pero Cuando Como Para Por Con Sin También Luego Después No
    Lo Gli Io Lei Lui Noi Loro Questo Questa Ma Quando Per Dopo Poi Anche Nel Nella
    O Os As Um Uma Ele Eles Eu Isso Mas Depois Também Em
    De Het Een Hij Zij Wij Ze Ik Dit Dat Maar En Als Toen Daarna Daar Er
    Он Она Оно Они Я Ты Мы Вы Это Этот Эта Эти Но И А В На С По После Потом Затем Если Когда Как Так Там Тогда Не Вот
    Він Вона Воно Вони Ми Це Але Якщо Коли Потім
    To On Ona Ono Oni Ale Kiedy Potem Jest W Na Po Nie Jeśli
    Det Den Han Hun Hon De Vi Jag Jeg Men Och Og Så När Når Efter
    Se Hän He Me Ja Mutta Kun
    Ο Η Το Οι Τα Αυτός Αυτή Αυτό Και Αλλά Μετά Όταν Αν Δεν
    """.split()
)

# After quoted speech, a name and one of these verbs belong to the same sentence: "Stop!" Tom said.
SPEECH = (
    "said|says|asked|asks|replied|replies|answered|shouted|cried|whispered|yelled|exclaimed|screamed|added|thought|"
    "wondered|muttered|murmured|laughed|called|continued|wrote|insisted|begged|sighed|told|explained|suggested"
)
